#include "ptx/fat_binary.hpp"

#include <cstring>
#include <limits>

namespace ladder {
std::string best_ptx(const char* data, const char*& why) {
    FatHeader header;
    std::memcpy(&header, data, sizeof header);
    why = "it holds no PTX: build it with -gencode arch=compute_90,code=compute_90 beside the machine code";
    if (header.magic != FAT_MAGIC) return "";
    std::string best;
    constexpr int DEVICE = 90;
    int best_rank = std::numeric_limits<int>::min();
    const char *at = data + header.header_size, *end = at + header.size;
    while (at + sizeof(FatEntry) <= end) {
        FatEntry e;
        std::memcpy(&e, at, sizeof e);
        const char* body = at + e.header_size;
        if (e.header_size < sizeof(FatEntry) || e.size > static_cast<uint64_t>(end - body)) break;
        at = body + e.size;
        int architecture = static_cast<int>(e.architecture),
            rank = architecture <= DEVICE ? architecture : -architecture;
        if (e.kind != PTX || rank <= best_rank) continue;
        std::string text(body, strnlen(body, e.size));
        if (e.compressed_size || text.find(".version") == std::string::npos) {
            why = "its PTX is compressed: build it with --no-compress";
            continue;
        }
        best = text;
        best_rank = rank;
    }
    return best;
}
}  // namespace ladder
