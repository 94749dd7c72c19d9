#include "ptx/lexer.hpp"

#include <algorithm>
#include <cctype>

#include "ptx/parser.hpp"

namespace ladder {
namespace {
bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.' || c == '%';
}

size_t end_of_word(std::string_view s, size_t i) {
    while (i < s.size()) {
        if (in_word(s[i]))
            ++i;
        else if (s[i] == ':' && i + 1 < s.size() && s[i + 1] == ':')
            i += 2;
        else
            break;
    }
    return i;
}
}  // namespace

std::vector<Token> tokenize(std::string_view s) {
    std::vector<Token> tokens;
    int line = 1;
    auto skip_to = [&](std::string_view end, size_t from, const char* what) {
        size_t at = s.find(end, from);
        if (at == std::string_view::npos) throw ParseError(line, std::string("unterminated ") + what);
        return at + end.size();
    };
    for (size_t i = 0; i < s.size();) {
        char c = s[i];
        size_t j = i + 1;
        bool signed_number = c == '-' && j < s.size() && std::isdigit(static_cast<unsigned char>(s[j]));
        if (c == '\0') break;
        if (std::isspace(static_cast<unsigned char>(c))) {
            line += c == '\n';
            i = j;
            continue;
        }
        if (s.substr(i, 2) == "//") {
            i = std::min(s.find('\n', i), s.size());
            continue;
        }
        if (s.substr(i, 2) == "/*") {
            j = skip_to("*/", i + 2, "comment");
            line += static_cast<int>(std::count(s.begin() + i, s.begin() + j, '\n'));
            i = j;
            continue;
        }
        if (c == '"')
            j = skip_to("\"", j, "string");
        else if (c == '.')
            j = std::min(end_of_word(s, j), s.find('.', j));  // .reg.b16 is two directives
        else if (in_word(c) || signed_number)
            j = end_of_word(s, j);
        tokens.push_back({s.substr(i, j - i), line});
        i = j;
    }
    tokens.push_back({"", line});
    return tokens;
}
}  // namespace ladder
