#include "counts/counts.hpp"

#include <algorithm>
#include <bit>

namespace ladder {
namespace {
constexpr int BANKS = 32, SECTOR = 32, WAVEFRONT_BYTES = 128;

bool contiguous(const uint64_t* address, Mask active, int bytes) {
    if (active != ~0u) return false;
    bool all = true;
    for (int l = 0; l < LANES; ++l) all &= address[l] == address[0] + static_cast<uint64_t>(l) * bytes;
    return all;
}

/// The most different words that any bank is asked for.
int busiest_bank(const uint64_t* address, Mask active, int bytes) {
    uint32_t words[BANKS][BANKS * 4];
    uint8_t used[BANKS] = {};
    int worst = 0;
    for (; active; active &= active - 1) {
        int l = std::countr_zero(active);
        for (uint64_t w = address[l] / 4, end = (address[l] + bytes - 1) / 4; w <= end; ++w) {
            int bank = static_cast<int>(w % BANKS), k = 0;
            while (k < used[bank] && words[bank][k] != static_cast<uint32_t>(w)) ++k;
            if (k < used[bank]) continue;
            words[bank][used[bank]++] = static_cast<uint32_t>(w);
            worst = std::max<int>(worst, used[bank]);
        }
    }
    return worst;
}

/// Do all active lanes name the same address as their neighbour lane^distance, where that one is active?
bool paired(const uint64_t* address, Mask active, int distance) {
    for (Mask m = active; m; m &= m - 1) {
        int l = std::countr_zero(m), other = l ^ distance;
        if ((active >> other & 1) && address[other] != address[l]) return false;
    }
    return true;
}
}  // namespace

// Wide accesses go in parts: 8 bytes by half warps, 16 bytes by quarter warps. Measured on an H200: a load of
// which all neighbours (lane^1, or lane^2) agree is served in half as many parts.
int shared_wavefronts(const uint64_t* address, Mask active, int bytes, bool load) {
    if (contiguous(address, active, bytes)) return bytes <= 4 ? 1 : bytes / 4;
    int lanes = bytes <= 4 ? LANES : LANES * 4 / bytes;
    if (bytes > 4 && load && (paired(address, active, 1) || paired(address, active, 2))) lanes *= 2;
    int total = 0;
    for (int first = 0; first < LANES; first += lanes)
        total += busiest_bank(address, active & (~0u >> (LANES - lanes) << first), bytes);
    return total;
}

int global_sectors(const uint64_t* address, Mask active, int bytes) {
    if (contiguous(address, active, bytes))
        return static_cast<int>((address[LANES - 1] + bytes - 1) / SECTOR - address[0] / SECTOR + 1);
    uint64_t sectors[LANES * 2];
    int n = 0;
    bool sorted = true;
    for (; active; active &= active - 1) {
        int l = std::countr_zero(active);
        for (uint64_t s = address[l] / SECTOR, end = (address[l] + bytes - 1) / SECTOR; s <= end; ++s) {
            if (n && sectors[n - 1] == s) continue;
            sorted &= !n || sectors[n - 1] < s;
            sectors[n++] = s;
        }
    }
    if (sorted) return n;
    std::sort(sectors, sectors + n);
    return static_cast<int>(std::unique(sectors, sectors + n) - sectors);
}

int distinct_bytes(const uint64_t* address, Mask active, int bytes) {
    if (contiguous(address, active, bytes)) return LANES * bytes;
    uint64_t sorted[LANES];
    int n = 0, total = 0;
    for (; active; active &= active - 1) sorted[n++] = address[std::countr_zero(active)];
    std::sort(sorted, sorted + n);
    for (int k = 0; k < n; ++k)
        total += k + 1 < n ? static_cast<int>(std::min<uint64_t>(bytes, sorted[k + 1] - sorted[k])) : bytes;
    return total;
}

void Tally::add(Traffic kind, const uint64_t* address, Mask active, int bytes) {
    auto& t = traffic[static_cast<int>(kind)];
    bool shared = kind == Traffic::SharedLoad || kind == Traffic::SharedStore;
    int unit = shared ? WAVEFRONT_BYTES : SECTOR;
    ++t.requests;
    t.units += shared ? shared_wavefronts(address, active, bytes, kind == Traffic::SharedLoad)
                      : global_sectors(address, active, bytes);
    t.ideal += (distinct_bytes(address, active, bytes) + unit - 1) / unit;
}
}  // namespace ladder
