// Which of a program's PTX texts the simulator takes.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "ptx/fat_binary.hpp"

namespace ladder {
namespace {

struct Packed {
    uint32_t architecture;
    bool ptx = true, compressed = false;
};

std::string ptx_for(uint32_t architecture) {
    return ".version 9.0 of " + std::to_string(architecture);
}

template <class T>
void append(std::string& to, const T& value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
/// As nvcc packs it: an entry's text goes on to the next multiple of 8 with zeros.
std::string fat_binary(const std::vector<Packed>& all) {
    std::string entries;
    for (const Packed& each : all) {
        std::string text = each.compressed ? "\xf0\x01 no text" : ptx_for(each.architecture);
        text.resize((text.size() + 8) / 8 * 8);
        FatEntry e{};
        e.kind = each.ptx ? PTX : 2;
        e.header_size = sizeof e;
        e.size = text.size();
        e.compressed_size = each.compressed ? 9 : 0;
        e.architecture = each.architecture;
        append(entries, e);
        entries += text;
    }
    std::string packed;
    append(packed, FatHeader{FAT_MAGIC, 1, sizeof(FatHeader), entries.size()});
    return packed + entries;
}
std::string best(const std::vector<Packed>& all) {
    const char* why = nullptr;
    return best_ptx(fat_binary(all).data(), why);
}
std::string why_not(const std::string& packed) {
    const char* why = nullptr;
    EXPECT_EQ(best_ptx(packed.data(), why), "");
    return why;
}

TEST(FatBinary, TheNewestPtxThatIsNotNewerThanTheDevice) {
    EXPECT_EQ(best({{90}}), ptx_for(90));
    EXPECT_EQ(best({{75}, {90}, {80}, {120}}), ptx_for(90));
    EXPECT_EQ(best({{120}, {80}, {75}, {100}}), ptx_for(80));
}

TEST(FatBinary, WhereAllAreNewerTheOldest) {
    EXPECT_EQ(best({{120}, {100}, {121}}), ptx_for(100));
    EXPECT_EQ(best({{121}}), ptx_for(121));
}

TEST(FatBinary, MachineCodeAndCompressedPtxArePassedOver) {
    EXPECT_EQ(best({{90, false}, {80}, {90, true, true}}), ptx_for(80));
    EXPECT_EQ(best({{120, false}, {100}, {80, true, true}}), ptx_for(100));
}

TEST(FatBinary, WhereNoneCanBeReadItSaysWhy) {
    EXPECT_NE(why_not(fat_binary({})).find("code=compute_90"), std::string::npos);
    EXPECT_NE(why_not(fat_binary({{90, false}})).find("code=compute_90"), std::string::npos);
    EXPECT_NE(why_not(fat_binary({{90, true, true}, {80, false}})).find("--no-compress"), std::string::npos);
    std::string damaged = fat_binary({{90}});
    damaged[0] ^= 1;
    EXPECT_NE(why_not(damaged).find("no PTX"), std::string::npos);
    damaged = fat_binary({{90}});
    FatEntry e;
    std::memcpy(&e, &damaged[sizeof(FatHeader)], sizeof e);
    e.size = ~uint64_t{0};  // reaches far beyond the end
    std::memcpy(&damaged[sizeof(FatHeader)], &e, sizeof e);
    EXPECT_NE(why_not(damaged).find("no PTX"), std::string::npos);
}

}  // namespace
}  // namespace ladder
