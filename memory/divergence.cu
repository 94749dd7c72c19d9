// divergence.cu: what it costs when the lanes of a warp go different ways.
//
// Idea:   a warp has one program counter that matters at a time. Lanes that take another branch wait until it
//         is their turn. Here lane l takes path l mod P; each path is the same chain of multiplications, so
//         the work of a lane does not depend on P, and the time of the warp does: P times that of one path.
// Cost:   none that could be seen elsewhere: the sums are the same, the GPU is P times slower.
// Whole warps that take different paths cost nothing (warps_apart): what counts is the paths inside a warp.
//         That is why the reductions give the work to whole warps (reduce/divergence.cu).
// Checked: what each lane computes.
// Text 2, warps in lock step.
#include "memory.cuh"

constexpr int CHAIN = 64;  // multiplications on a path: too many for conditional moves
constexpr int THREADS = 128;

__host__ __device__ inline uint32_t follow_path(uint32_t x, int path) {
    for (int k = 0; k < CHAIN; ++k) x = x * 2654435761u + path;
    return x;
}

/// Paths one after the other; a thread takes one of them. `lanes_together`: neighbours that take one.
__global__ void diverge(int paths, int lanes_together, int rounds, const uint32_t* in, uint32_t* out,
                        long long* clocks) {
    uint32_t x = in[threadIdx.x];
    const int mine = threadIdx.x / lanes_together % paths;
    const long long start = clock64();
    for (int round = 0; round < rounds; ++round) {
        for (int path = 0; path < paths; ++path)
            if (path == mine) x = follow_path(x, path);
        __syncwarp();
    }
    *static_cast<volatile uint32_t*>(&out[threadIdx.x]) = x;
    const long long stop = clock64();
    if (threadIdx.x % WARP_SIZE == 0) clocks[threadIdx.x / WARP_SIZE] = stop - start;
}

class Divergence : public Memory {
 public:
    Divergence(int argc, char** argv)
        : Memory("divergence", "Cycles of a warp whose lanes take 1 to 32 different paths.", argc, argv) {
        program.command_line.size("--rounds", rounds, 1, 1 << 16, 2, "how often each path is taken");
        program.sweep_sizes = {"--rounds 16", "--rounds 64"};
        program.test_sizes = {"--rounds 1", "--rounds 2", "--rounds 3", "--rounds 7", "--rounds 13"};
        family.columns = {{"path", "cycles"}};
        family.layout = [this] {
            Layout layout;
            layout.headline = std::to_string(rounds) + " rounds";
            layout.in = layout.out = THREADS;
            layout.clocks = THREADS / WARP_SIZE;
            return layout;
        };
    }

    void paths(const std::string& name, const std::string& note, int paths, int lanes_together) {
        Entry& v = variant(name, note, [=](const Buffers& t) {
            diverge<<<1, THREADS>>>(paths, lanes_together, static_cast<int>(rounds), t.in, t.out, t.clocks);
        });
        v.expected = [=](int64_t i) {
            uint32_t x = word_at(program.options.seed, i);
            const int mine = static_cast<int>(i) / lanes_together % paths;
            for (int64_t round = 0; round < rounds; ++round) x = follow_path(x, mine);
            return x;
        };
        // A multiplication at a time, each waiting for the one before: no path takes fewer cycles.
        v.read = [=](const std::vector<long long>& clocks) {
            return std::vector<Reading>{
                {static_cast<double>(clocks[0]) / static_cast<double>(rounds), double{CHAIN}}};
        };
    }

 private:
    int64_t rounds = 64;
};

int main(int argc, char** argv) {
    Divergence ladder(argc, argv);
    ladder.paths("paths_1", "1 path", 1, 1);
    for (const int paths : {2, 3, 4, 6, 8, 12, 16, 24, 32})
        ladder.paths("paths_" + std::to_string(paths), std::to_string(paths) + " paths in a warp", paths, 1);
    ladder.paths("warps_apart", "4 paths, each taken by a whole warp", 4, WARP_SIZE);
    return ladder.run();
}
