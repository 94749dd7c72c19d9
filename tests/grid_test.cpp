#include "grid.cuh"

#include <gtest/gtest.h>

#include "device_info.hpp"
#include "device_memory.cuh"

TEST(CeilDiv, Edges) {
    EXPECT_EQ(ceil_div(0, 32), 0);
    EXPECT_EQ(ceil_div(1, 32), 1);
    EXPECT_EQ(ceil_div(32, 32), 1);
    EXPECT_EQ(ceil_div(33, 32), 2);
    EXPECT_EQ(ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1);  // a + b - 1 would overflow
    EXPECT_EQ(ceil_div((int64_t{1} << 31) + 5, 256), (1 << 23) + 1);
}

// Every tile is covered and the limits hold.
static void expect_covers(int64_t across, int64_t down) {
    const dim3 grid = grid_of_tiles(across, down);
    EXPECT_EQ(grid.x, across);
    EXPECT_GE(int64_t{grid.y} * grid.z, down);
    EXPECT_LT(int64_t{grid.y} * grid.z, down + grid.z);  // and hardly more than the tiles
    EXPECT_LE(grid.y, 65535u);
    EXPECT_LE(grid.z, 65535u);
}

TEST(GridOfTiles, PastTheLimitOfAnAxis) {
    for (int64_t down : {1, 65534, 65535, 65536, 65537, 131070, 131071, 2097121}) expect_covers(1, down);
    expect_covers(2147483647, 1);
    expect_covers(7, int64_t{65535} * 65535);
}

TEST(GridOfTiles, RefusesWhatNoGridReaches) {
    EXPECT_THROW(grid_of_tiles(0, 1), std::length_error);
    EXPECT_THROW(grid_of_tiles(1, 0), std::length_error);
    EXPECT_THROW(grid_of_tiles(int64_t{1} << 31, 1), std::length_error);
    EXPECT_THROW(grid_of_tiles(1, int64_t{65535} * 65535 + 1), std::length_error);
}

TEST(CheckedBytes, IsSixtyFourBit) {
    EXPECT_EQ(checked_bytes(0, 8), 0);
    EXPECT_EQ(checked_bytes(int64_t{1} << 31, 8), int64_t{1} << 34);
    EXPECT_EQ(checked_bytes(23171LL * 23171, 4), 2147580964);  // just past 2^31
    EXPECT_THROW(checked_bytes(INT64_MAX / 4 + 1, 4), OutOfMemory);
    EXPECT_THROW(checked_bytes(-1, 4), std::invalid_argument);
}

TEST(Bandwidth, KnownCards) {
    // Clock and width as CUDA reports them; the datasheets say 4.8 TB/s, 1555 GB/s and 320 GB/s.
    EXPECT_NEAR(*theoretical_bandwidth(3201000, 6016), 4.814e12, 1e9);  // H200, as this suite read it
    EXPECT_NEAR(*theoretical_bandwidth(1215000, 5120), 1.555e12, 1e9);  // A100 40 GB
    EXPECT_NEAR(*theoretical_bandwidth(5005000, 256), 320e9, 1e9);      // GTX 1080
}

TEST(Bandwidth, UnknownIsNotZero) {
    EXPECT_FALSE(theoretical_bandwidth(0, 5120).has_value());
    EXPECT_FALSE(theoretical_bandwidth(1215000, 0).has_value());
}

TEST(Version, Text) {
    EXPECT_EQ(version_text(13000), "13.0");
    EXPECT_EQ(version_text(12040), "12.4");
}
