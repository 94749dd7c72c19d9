// The counting rules against what an H200's counters said of 352 single accesses.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "counts/profiles.hpp"

namespace ladder {
namespace {

/// The lane patterns that were measured, in their order; -1 is an inactive lane. `rand` is part of
/// the definition.
std::vector<std::vector<int>> measured_patterns() {
    std::vector<std::vector<int>> all;
    auto add = [&](const std::function<int(int)>& f) {
        std::vector<int> p(LANES);
        for (int l = 0; l < LANES; ++l) p[l] = f(l);
        all.push_back(p);
    };
    for (auto f : std::vector<int (*)(int)>{[](int l) { return l; },
                                            [](int) { return 0; },
                                            [](int l) { return l * 2; },
                                            [](int l) { return l * 4; },
                                            [](int l) { return l * 8; },
                                            [](int l) { return l * 32; },
                                            [](int l) { return l * 33; },
                                            [](int l) { return l * 3; },
                                            [](int l) { return l / 2; },
                                            [](int l) { return l / 4; },
                                            [](int l) { return l / 8; },
                                            [](int l) { return l / 16; },
                                            [](int l) { return l / 16 * 64; },
                                            [](int l) { return l % 16; },
                                            [](int l) { return l % 8; },
                                            [](int l) { return l % 4; },
                                            [](int l) { return l % 2; },
                                            [](int l) { return l < 16 ? l : -1; },
                                            [](int l) { return l < 8 ? l : -1; },
                                            [](int l) { return l == 5 ? 3 : -1; },
                                            [](int l) { return l ^ 1; },
                                            [](int l) { return 31 - l; },
                                            [](int l) { return l % 16 * 16; },
                                            [](int l) { return l / 8 * 16 + l % 2; },
                                            [](int l) { return l % 2 ? -1 : l; },
                                            [](int l) { return l % 2 ? -1 : l / 2; },
                                            [](int l) { return l / 4 % 2 * 4 + l % 4; },
                                            [](int l) { return l / 8 * 8 + l % 8 / 2; },
                                            [](int l) { return l / 8 * 32 + l % 8; },
                                            [](int l) { return l % 16 / 2 + l / 16 * 32; }})
        add(f);
    std::srand(1);
    for (int r = 0; r < 14; ++r) {
        int range = r < 5 ? 32 : r < 9 ? 128 : 1000;
        bool gaps = r % 3 == 2;
        add([&](int) {
            int x = std::rand();
            return gaps && x % 4 == 0 ? -1 : x / 7 % range;
        });
    }
    return all;
}

int counted(const std::vector<int>& pattern, const std::string& access) {
    int bytes = std::stoi(access.substr(access.rfind('.') + 1));
    uint64_t address[LANES] = {};
    Mask active = 0;
    for (int l = 0; l < LANES; ++l) {
        if (pattern[l] < 0) continue;
        active |= 1u << l;
        address[l] = static_cast<uint64_t>(pattern[l]) * bytes;
    }
    // The measured kernel also read 32 lane offsets of 4 bytes from global memory.
    if (access.find("global") != std::string::npos) return global_sectors(address, active, bytes) + 4;
    return shared_wavefronts(address, active, bytes, access[0] == 'l');
}

TEST(Counts, EqualTheHardwareOnEveryMeasuredPattern) {
    auto patterns = measured_patterns();
    std::ifstream file(LADDER_TEST_DATA "/rule-patterns.tsv");
    int compared = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        size_t pattern;
        std::string access;
        int value;
        if (!(fields >> pattern >> access >> value)) continue;
        ASSERT_LT(pattern, patterns.size());
        EXPECT_EQ(counted(patterns[pattern], access), value) << "pattern " << pattern << ", " << access;
        ++compared;
    }
    EXPECT_EQ(compared, 352);
}

TEST(Counts, DistinctBytesIgnoreWhatLanesShare) {
    uint64_t same[LANES] = {}, column[LANES], overlapping[LANES];
    for (int l = 0; l < LANES; ++l) {
        column[l] = static_cast<uint64_t>(l) * 128;
        overlapping[l] = static_cast<uint64_t>(l) * 2;
    }
    EXPECT_EQ(distinct_bytes(same, ~0u, 4), 4);
    EXPECT_EQ(distinct_bytes(column, ~0u, 4), 128);
    EXPECT_EQ(distinct_bytes(column, 0xff, 16), 128);
    EXPECT_EQ(distinct_bytes(overlapping, ~0u, 4), 66);
}

TEST(Counts, IdealIsOneWavefrontForAColumnOfFloats) {
    uint64_t column[LANES];
    for (int l = 0; l < LANES; ++l) column[l] = static_cast<uint64_t>(l) * 128;
    Tally t;
    t.add(Traffic::SharedLoad, column, ~0u, 4);
    t.add(Traffic::GlobalLoad, column, ~0u, 4);
    EXPECT_EQ(t.traffic[static_cast<int>(Traffic::SharedLoad)].units, 32u);
    EXPECT_EQ(t.traffic[static_cast<int>(Traffic::SharedLoad)].ideal, 1u);
    EXPECT_EQ(t.traffic[static_cast<int>(Traffic::GlobalLoad)].units, 32u);
    EXPECT_EQ(t.traffic[static_cast<int>(Traffic::GlobalLoad)].ideal, 4u);
}

TEST(Counts, AKernelsCountsAreTheSumOfItsInstructionsByKindOfTraffic) {
    uint64_t rows[LANES];
    for (int l = 0; l < LANES; ++l) rows[l] = static_cast<uint64_t>(l) * 8;
    Function kernel, helper;
    kernel.code.resize(2);
    helper.code.resize(1);
    Profile profile;
    profile.launches = 3;
    profile.of(kernel)[0].add(Traffic::GlobalLoad, rows, ~0u, 4);
    profile.of(kernel)[1].add(Traffic::SharedStore, rows, ~0u, 4);
    profile.of(helper)[0].add(Traffic::GlobalLoad, rows, 1, 4);
    const LadderSimulatorCounts c = counts_of(profile);
    const uint64_t expected[4][3] = {{0, 0, 0}, {1, 2, 1}, {2, 9, 5}, {0, 0, 0}};
    for (int k = 0; k < 4; ++k) {
        EXPECT_EQ(c.traffic[k].requests, expected[k][0]) << LADDER_SIMULATOR_TRAFFIC[k].name;
        EXPECT_EQ(c.traffic[k].units, expected[k][1]) << LADDER_SIMULATOR_TRAFFIC[k].name;
        EXPECT_EQ(c.traffic[k].ideal, expected[k][2]) << LADDER_SIMULATOR_TRAFFIC[k].name;
    }
    EXPECT_EQ(c.launches, 3u);
}

TEST(Counts, NamesAreDemangledWithoutParameters) {
    EXPECT_EQ(readable_name("_Z14transposeTiledILi1EEvPfPKfii"), "transposeTiled<1>");
    EXPECT_EQ(readable_name("_Z5naivePf"), "naive");
    EXPECT_EQ(readable_name("plain"), "plain");
    EXPECT_EQ(readable_name("_ZN12_GLOBAL__N_15naiveEPf"), "naive");
}

}  // namespace
}  // namespace ladder
