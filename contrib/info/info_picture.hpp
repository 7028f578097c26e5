/*
 * A picture of who sends how much to whom: sites, their hosts, flows between them.  SVG that needs
 * nothing else; of a plan (info_draw.cpp) and of what a job did (info_report_page.cpp).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_PICTURE_HPP
#define INFO_PICTURE_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace info {

struct picture {
    struct host {
        std::string mark, title;    // in its dot; where the mouse rests
        bool root = false;
    };
    struct site {
        std::string name;
        std::vector<host> hosts;
    };
    /** A host: the numbers of its site and of itself there. */
    struct spot {
        size_t site, host;
        bool operator==(const spot &) const = default;
    };
    struct flow {
        spot from, to;
        uint64_t bytes, messages;
        std::string title;
    };
    std::vector<site> sites;
    std::vector<flow> flows;
};

/** CSS colours, how far two sites are from each other, and how wide all may be; 0: as is best to look at. */
struct looks {
    double gap = 320;
    std::string ink = "#0f172a", paper = "#ffffff", soft = "#f1f5f9", line = "#94a3b8", rim = "#334155", far = "#c2410c",
                near = "#64748b", root = "#fde047", root_ink = "#0f172a";
    double most_width = 0;
};

struct drawing {
    double width = 0, height = 0;
    std::string defs, body;         // for one <svg>
};

/** id: no two drawings of a page have the same; a few letters. */
drawing draw(const picture &p, const looks &c, const std::string &id);

/** Escaped for XML, also for attributes; what XML cannot have is a question mark. */
std::string escaped(const std::string &text);

} // namespace info

#endif
