#include "verify.hpp"

#include <fmt/format.h>

std::string Comparison::describe() const {
    if (ok()) return fmt::format("{} cells right, worst error {:.3g}", compared, worst_error);
    if (compared == 0) return "nothing was compared";
    std::string text = fmt::format("{} of {} wrong", wrong, compared);
    if (not_finite) text += fmt::format(" ({} NaN or infinite)", not_finite);
    const char* separator = ": ";
    for (const Difference& d : first) {
        text += fmt::format("{}[{}] is {:.9g}, should be {:.9g}", separator, d.index, d.got, d.want);
        separator = "; ";
    }
    return text;
}
