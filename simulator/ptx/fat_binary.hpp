// What nvcc packs into a program: a header, and one entry for each PTX text and each machine code.
#pragma once
#include <cstdint>
#include <string>

namespace ladder {
struct FatHeader {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size;
};
struct FatEntry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t size;
    uint32_t compressed_size, unused;
    uint16_t minor, major;
    uint32_t architecture;
};
constexpr uint16_t PTX = 1;
constexpr uint32_t FAT_MAGIC = 0xba55ed50;

/// The PTX that a device of compute capability 9.0 would take, the newest that is not newer than it is; where
/// there is none, the oldest. Or empty, with `why` it cannot be had.
std::string best_ptx(const char* data, const char*& why);
}  // namespace ladder
