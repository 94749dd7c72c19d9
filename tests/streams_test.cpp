// The host's part of streams/: chunks, the model of a pipeline, many steps at once, the picture.
#include <gtest/gtest.h>

#include <vector>

#include "../streams/advance.hpp"
#include "../streams/chunks.hpp"
#include "../streams/timeline.hpp"

namespace {

TEST(Chunks, CoverAllElementsOnceAndTheLastMayBeShorter) {
    for (const int64_t n : {0, 1, 2, 999, 1000, 1001, 1999, 2000, 2001, 20011})
        for (const int64_t size : {1, 3, 1000, 1009, 1000000}) {
            const Chunks chunks{n, size};
            int64_t next = 0;
            for (int64_t i = 0; i < chunks.count(); ++i) {
                const Chunk k = chunks[i];
                EXPECT_EQ(k.index, i);
                EXPECT_EQ(k.begin, next);
                EXPECT_GE(k.size, 1);
                EXPECT_TRUE(k.size == size || (i + 1 == chunks.count() && k.size < size));
                next += k.size;
            }
            EXPECT_EQ(next, n) << n << " by " << size;
        }
}

TEST(Chunks, CountIn64Bits) {
    const Chunks chunks{(int64_t{1} << 33) + 5, int64_t{1} << 30};
    EXPECT_EQ(chunks.count(), 9);
    EXPECT_EQ(chunks[8].begin, int64_t{1} << 33);
    EXPECT_EQ(chunks[8].size, 5);
}

TEST(Chunks, AtMostAsManyAsAskedFor) {
    for (const int64_t n : {1, 2, 3, 15, 16, 17, 1000, 20011})
        for (const int64_t count : {1, 4, 16, 64, 256}) {
            const Chunks chunks{n, size_for_count(n, count)};
            EXPECT_LE(chunks.count(), count);
            EXPECT_GE(chunks.count() * 2, std::min(n, count));
        }
    EXPECT_EQ((Chunks{1 << 28, size_for_count(1 << 28, 64)}.count()), 64);
}

TEST(Model, OneStreamIsTheSumAndOneChunkToo) {
    const Parts p{3, 4, 5, 6, 0};
    EXPECT_EQ(model_ms(p, 16, 1), 12);
    EXPECT_EQ(model_ms(p, 1, 4), 12);
    EXPECT_EQ(model_ms({3, 4, 5, 6, 0.5}, 16, 1), 12 + 16 * 0.5);
}

TEST(Model, ManyChunksComeNearTheBound) {
    const Parts p{3, 4, 5, 6, 0};
    EXPECT_EQ(p.bound(), 6);  // both directions at once are slower than any part alone
    EXPECT_EQ((Parts{3, 7, 5, 6, 0}.bound()), 7);
    EXPECT_EQ(model_ms(p, 7, 4), 6 + 7.0 / 7);
    EXPECT_NEAR(model_ms(p, 1000000, 4), 6, 1e-4);
}

// What the formula stands for, step by step: each engine takes the chunks in order, each stream one step at a time.
double stepped_ms(const Parts& p, int64_t chunks, int streams) {
    std::vector<double> stream_free(streams);
    double engine_free[STAGES] = {};
    const double steps[STAGES] = {p.in, p.kernel, p.out};
    double end = 0;
    for (int64_t i = 0; i < chunks; ++i)
        for (int stage = 0; stage < STAGES; ++stage) {
            double& stream = stream_free[i % streams];
            end = std::max(stream, engine_free[stage]) + steps[stage] / static_cast<double>(chunks);
            stream = engine_free[stage] = end;
        }
    return end;
}

TEST(Model, IsWhatTheStepsTakeTogether) {
    for (const Parts& p :
         {Parts{1, 1, 1, 1, 0}, Parts{2, 1, 1, 2, 0}, Parts{1, 3, 2, 2, 0}, Parts{2, 0, 1, 2, 0}})
        for (const int streams : {1, 2, 3, 4, 8})
            for (const int64_t chunks : {1, 4, 16, 64, 256}) {
                if (chunks % streams && chunks > streams) continue;  // the last streams would have less to do
                EXPECT_GE(stepped_ms(p, chunks, streams), model_ms(p, chunks, streams) - 1e-9)
                    << chunks << " " << streams;
                // For equal parts the formula is exact.
                if (p.in == p.kernel && p.kernel == p.out) {
                    EXPECT_NEAR(stepped_ms(p, chunks, streams), model_ms(p, chunks, streams), 1e-9)
                        << chunks << " " << streams;
                }
            }
}

TEST(Model, FewerStreamsThanStagesLeaveAnEngineIdle) {
    const Parts balanced{1, 1, 1, 1, 0};
    EXPECT_NEAR(model_ms(balanced, 1000000, 2), 1.5, 1e-5);
    EXPECT_NEAR(model_ms(balanced, 1000000, 3), 1, 1e-5);
    EXPECT_EQ(model_ms(balanced, 96, 8), model_ms(balanced, 96, 3));
    EXPECT_EQ(model_ms(balanced, 2, 8), model_ms(balanced, 2, 2));  // two chunks use two streams
}

TEST(Model, TheBestNumberOfChunksIsTheLeastTime) {
    // 1 GB each way at 55 GB/s, a kernel as long, 10 us a chunk: about 60 chunks.
    const Parts p{18.2, 18.2, 18.2, 18.2, 0.01};
    EXPECT_NEAR(best_chunks(p), std::sqrt(36.4 / 0.01), 1e-9);
    const int64_t best = std::lround(best_chunks(p));
    for (const int64_t n : {best / 2, best - 1, best + 1, best * 2})
        EXPECT_LE(model_ms(p, best, 4), model_ms(p, n, 4)) << n;
    EXPECT_TRUE(std::isinf(best_chunks({1, 1, 1, 1, 0})));
    EXPECT_EQ(best_chunks({1, 0, 0, 1, 0.01}), 1);  // nothing to hide
}

TEST(AdvanceSteps, ManyAtOnceAreAsMany) {
    for (const int steps : {0, 1, 2, 3, 4, 17, 1000, 99999}) {
        const Advance advance(steps);
        for (const int start : {0, 1, -1, 12345, -2147483647 - 1, 2147483647}) {
            uint32_t x = static_cast<uint32_t>(start);
            for (int k = 0; k < steps; ++k) x = x * MULTIPLIER + INCREMENT;
            EXPECT_EQ(advance(start), static_cast<int>(x)) << steps << " from " << start;
        }
    }
    EXPECT_NE(Advance(7)(5), Advance(8)(5));  // a step too many shows
}

TEST(Timeline, AStageBeginsWhenItsStreamAndItsEngineAreFree) {
    // Two streams; the second chunk's copy in waits for the engine, its kernel for the first one's. The fourth chunk was
    // issued late.
    const auto spans =
        spans_of({{0, 0, {1, 3, 4}}, {1, 0, {2, 5, 6}}, {0, 4, {5, 7, 8}}, {1, 9, {10, 11, 12}}});
    EXPECT_EQ(spans[0][0].begin, 0);
    EXPECT_EQ(spans[0][1].begin, 1);
    EXPECT_EQ(spans[1][0].begin, 1);  // the engine was busy
    EXPECT_EQ(spans[1][1].begin, 3);  // the kernel before it
    EXPECT_EQ(spans[1][2].begin, 5);  // its own kernel
    EXPECT_EQ(spans[2][0].begin, 4);  // the first chunk of its stream is out
    EXPECT_EQ(spans[2][2].end, 8);
    EXPECT_EQ(spans[3][0].begin, 9);
    EXPECT_EQ(spans[3][1].begin, 10);
}

TEST(Timeline, HasABarForEachStageAndATitleForEachPanel) {
    const std::string svg =
        timeline_svg({{"one stream", {{0, 0, {1, 2, 3}}}}, {"two", {{0, 0, {1, 2, 3}}, {1, 0, {2, 3, 4}}}}});
    size_t bars = 0;
    for (size_t at = svg.find("<rect x="); at != std::string::npos; at = svg.find("<rect x=", at + 1)) ++bars;
    EXPECT_EQ(bars, 8u);  // the last copy out of the second panel lies beyond the first one's end
    EXPECT_NE(svg.find(">one stream: 3.0 ms<"), std::string::npos);
    EXPECT_NE(svg.find(">two: 4.0 ms, the beginning<"), std::string::npos);
    EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
    EXPECT_EQ(timeline_svg({}).find("nan"), std::string::npos);
}

}  // namespace
