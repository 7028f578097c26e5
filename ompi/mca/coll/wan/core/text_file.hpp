/*
 * Files of text that people and jobs share: read as a whole, and changed as a whole.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEXT_FILE_HPP
#define WAN_TEXT_FILE_HPP

#include "input_error.hpp"

#include <functional>
#include <string>

namespace wan {

/** The whole of a regular file.  A directory, a pipe or more than 64 MiB is an error. */
bool text_file_read(const std::string &file, std::string &text, input_error &error);

/**
 * Replaces a file by what `change` makes of its text ("" where there is none); where that returns false, or anything fails, it
 * keeps what it has.  Who reads it meanwhile gets the old text or the new one.  One process at a time, of all hosts that see
 * its locks: others wait, a few seconds at most, and where there are no locks nobody does.  A link stays one, and the mode is
 * kept.
 */
bool text_file_change(const std::string &file, const std::function<bool(std::string &text, input_error &error)> &change, input_error &error);

/** Whether that could be done now, for all that is known without doing it; makes and changes nothing. */
bool text_file_changeable(const std::string &file, input_error &error);

/** Makes a file, or a new one in place of a regular one, which stays as it is where that fails: false, and why in errno. */
bool text_file_write(const std::string &file, const std::string &text);

/** What to do where that fails with such an errno: a sentence. */
const char *write_remedy(int error);

} // namespace wan

#endif
