// distributed.cu: a load from another block's shared memory.
//
// Idea:   the blocks of a cluster (Hopper and later) run on neighbouring multiprocessors and can address each
//         other's shared memory. How far away is it? A chain again (latency.cu), in the memory of the block
//         itself, and in that of the block R ranks further on. All blocks do so at once.
// Cost:   the cluster's blocks must be scheduled together, and must not end while another one still reads: a
//         barrier of the cluster at either end.
// Checked: where each chain ends.
// CUDA C++ Programming Guide, "Distributed Shared Memory"; the texts end before it.
#include <cooperative_groups.h>

#include "memory.cuh"

namespace cg = cooperative_groups;

constexpr int CLUSTER = 4;
constexpr int LINES = 8, LINE = 128, HOP = 5;  // chains of 1 KB, from line l to line (l + HOP) % LINES

/// Each block follows the chain of the block `distance` ranks further on. A chain holds addresses as they are
/// valid in the whole cluster.
__global__ void __cluster_dims__(CLUSTER)
    cluster_latency(int distance, int steps, uint32_t* end, long long* clocks) {
    __shared__ uint64_t chain[LINES * LINE / 8];
    __shared__ volatile uint64_t last;
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), target = (rank + distance) % CLUSTER;
    const auto own = reinterpret_cast<uint64_t>(cluster.map_shared_rank(chain, rank));
    for (int l = 0; l < LINES; ++l) chain[l * LINE / 8] = own + (l + HOP) % LINES * LINE;
    cluster.sync();

    const auto base = reinterpret_cast<uint64_t>(cluster.map_shared_rank(chain, target));
    uint64_t p = base;
    for (int i = 0; i < steps; ++i) p = *reinterpret_cast<const uint64_t*>(p);
    last = p;
    const long long start = clock64();
#pragma unroll 16
    for (int i = 0; i < steps; ++i) p = *reinterpret_cast<const uint64_t*>(p);
    last = p;
    const long long stop = clock64();
    end[rank] = static_cast<uint32_t>((p - base) / LINE);
    clocks[rank] = stop - start;
    cluster.sync();
}

class Distributed : public Memory {
 public:
    Distributed(int argc, char** argv)
        : Memory("distributed", "Cycles for a load from the shared memory of another block of the cluster.",
                 argc, argv) {
        program.command_line.size("--steps", steps, 1, 1 << 20, 64, "loads on the clock");
        program.sweep_sizes = {"--steps 1024", "--steps 8192"};
        program.test_sizes = {"--steps 1", "--steps 2", "--steps 15", "--steps 17", "--steps 40"};
        family.columns = {{"latency", "cycles"}};
        family.layout = [this] {
            Layout layout;
            layout.headline = std::to_string(steps) + " loads";
            layout.out = layout.clocks = CLUSTER;
            return layout;
        };
    }

    void chain(int distance, const std::string& note) {
        Entry& v = variant("distance_" + std::to_string(distance), note, [=](const Buffers& t) {
            cluster_latency<<<CLUSTER, 1>>>(distance, static_cast<int>(steps), t.out, t.clocks);
        });
        v.expected = [=](int64_t) { return static_cast<uint32_t>(2 * steps * HOP % LINES); };
        v.read = [=](const std::vector<long long>& clocks) {
            double sum = 0;
            for (const long long c : clocks) sum += static_cast<double>(c) / static_cast<double>(steps);
            return std::vector<Reading>{{sum / CLUSTER, 1}};
        };
        v.unless([](const DeviceInfo& d, const Buffers&) {
            return d.major < 9 ? "needs thread block clusters (sm_90)" : "";
        });
    }

 private:
    int64_t steps = 8192;
};

int main(int argc, char** argv) {
    Distributed ladder(argc, argv);
    ladder.chain(0, "the block's own, by the same address");
    for (int distance = 1; distance < CLUSTER; ++distance)
        ladder.chain(distance, "the block " + std::to_string(distance) + " ranks on");
    return ladder.run();
}
