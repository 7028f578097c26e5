/*
 * A table on the terminal.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_TABLE_HPP
#define INFO_TABLE_HPP

#include <algorithm>
#include <string>
#include <vector>

namespace info {

/** Columns as wide as what is in them; the first `left` of them to the left. */
class table {
public:
    explicit table(size_t left) : left_(left) {}
    void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    std::string text() const
    {
        std::vector<size_t> width;
        for (const auto &cells : rows_)
            for (size_t i = 0; i < cells.size(); ++i) {
                width.resize(std::max(width.size(), i + 1));
                width[i] = std::max(width[i], cells[i].size());
            }
        std::string out;
        for (const auto &cells : rows_) {
            std::string line = "  ";
            for (size_t i = 0; i < cells.size(); ++i) {
                const std::string space(width[i] - cells[i].size(), ' ');
                const bool last = i + 1 == cells.size();
                line += i < left_ || last ? cells[i] + (last ? "" : space) : space + cells[i];
                line += last ? "" : "  ";
            }
            out += line + "\n";
        }
        return out;
    }

private:
    size_t left_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace info

#endif
