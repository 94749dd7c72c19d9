// Splits PTX into tokens.
#pragma once
#include <string_view>
#include <vector>

namespace ladder {
struct Token {
    std::string_view text;
    int line;
};

/// The tokens of a text: names (with % $ _ . and :: inside), numbers, strings and single marks. `source` must
/// outlive them. Throws ParseError.
std::vector<Token> tokenize(std::string_view source);
}  // namespace ladder
