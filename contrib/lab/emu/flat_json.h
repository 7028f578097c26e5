// SPDX-License-Identifier: BSD-3-Clause
// JSON objects without nesting, one per line: {"op":"set","from":"a","delay_ms":5}.
//
// That is all the daemon's configuration and control need, so it needs no JSON
// library and compiles in seconds where the lab has to build it by itself.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace wan::lab {

class FlatJson {
public:
    /// Nothing when `text` is not one flat object of strings, numbers and booleans;
    /// `why` then says what was wrong.
    static std::optional<FlatJson> parse(const std::string& text, std::string& why);

    bool has(const std::string& key) const { return values_.count(key) != 0; }
    std::string text(const std::string& key, const std::string& otherwise = "") const;
    /// NaN when the key is there but no number.
    double number(const std::string& key, double otherwise = 0) const;
    const std::map<std::string, std::string>& values() const { return values_; }

private:
    std::map<std::string, std::string> values_;
};

/// `text` as a JSON string, quotes included.
std::string json_quote(const std::string& text);

}  // namespace wan::lab
