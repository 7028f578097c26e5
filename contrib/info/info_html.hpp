/*
 * Pieces of a page of HTML that is well-formed XML, too.  What is no HTML yet goes through text().
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_HTML_HPP
#define INFO_HTML_HPP

#include "info_picture.hpp"
#include "info_words.hpp"

#include <nlohmann/json.hpp>

namespace info::html {

using json = nlohmann::ordered_json;

inline std::string text(const std::string &plain) { return escaped(plain); }
inline std::string str(const json &j) { return j.get<std::string>(); }
inline int64_t number(const json &j) { return j.get<int64_t>(); }

inline std::string element(const char *name, const std::string &inside, const std::string &attributes = "")
{
    return std::string("<") + name + (attributes.empty() ? "" : " " + attributes) + ">" + inside + "</" + name + ">";
}

inline std::string cells(const char *kind, const std::vector<std::string> &html)
{
    std::string row;
    for (const std::string &h : html)
        row += element(kind, h);
    return element("tr", row) + "\n";
}

/** A box that scrolls where the screen is narrower than what is in it; by the keyboard, too. */
inline std::string scrolling(const std::string &inside)
{
    return "<div class=\"wide\" tabindex=\"0\">" + inside + "</div>\n";
}

struct column {
    const char *head, *alone = nullptr;    // alone: its name where no heads of groups are seen
};

struct cell {
    std::string inside, attributes = {};
};

/** Each cell names its column, too: where the screen is narrow, rows of more than two cells stand by themselves (style in
    info_report_page.cpp). */
inline std::string table(const std::vector<column> &columns, const std::vector<std::vector<cell>> &rows, const std::string &groups = "")
{
    std::string head, body;
    for (const column &c : columns)
        head += element("th", c.head);
    for (const std::vector<cell> &row : rows) {
        std::string out;
        for (size_t i = 0; i < row.size(); ++i)
            out += element("td", row[i].inside,
                           "data-of=\"" + text(columns.at(i).alone ? columns[i].alone : columns[i].head) + "\""
                               + (row[i].attributes.empty() ? "" : " " + row[i].attributes));
        body += element("tr", out) + "\n";
    }
    return scrolling(std::string(columns.size() > 2 ? "<table class=\"cards\">" : "<table>") + "<thead>" + groups + element("tr", head) + "\n</thead><tbody>\n" + body + "</tbody></table>");
}

} // namespace info::html

#endif
