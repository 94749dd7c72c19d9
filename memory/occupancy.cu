// occupancy.cu: how much shared memory a block takes, how many blocks fit, and what that does to the bandwidth.
//
// Idea:   a block copies a tile through shared memory: load, barrier, store. While it waits at the barrier, other
//         blocks must keep the memory busy; how many there are depends on the shared memory that each reserves. What
//         counts is bytes under way: blocks x the bytes that a block loads before it waits.
//         blocks_B: reserves as much as lets B blocks fit on a multiprocessor.
//         at_once:  the same tile, and four times the loads under way of a thread: with few blocks a thread has to
//                   ask for more.
// Edges:  without opting in a block has 48 KB at most; with cudaFuncSetAttribute up to what the device allows, to the
//         byte. One byte more is refused, both ways; blocks_1 checks that.
// Checked: the copy.
// Text 3, 48, 96, 164 KB; text 1, dynamic shared memory.
#include <algorithm>

#include "copy.cuh"
#include "memory.cuh"

constexpr int BLOCK_SIZE = 256;
constexpr int64_t WITHOUT_OPT_IN = 48 * 1024;

/// Copies BLOCK_SIZE x PER_THREAD vectors a block. The tile is the first part of the shared memory, the rest is only
/// reserved.
template <int PER_THREAD>
__global__ void __launch_bounds__(BLOCK_SIZE) copy_tile(const uint4* in, uint4* out, int64_t vectors) {
    extern __shared__ uint4 tile[];
    const int64_t first = blockIdx.x * int64_t{BLOCK_SIZE * PER_THREAD};
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int at = k * BLOCK_SIZE + threadIdx.x;
        if (first + at < vectors) tile[at] = in[first + at];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int at = (k + 1) * BLOCK_SIZE - 1 - threadIdx.x;  // what another thread has loaded
        if (first + at < vectors) out[first + at] = tile[at];
    }
}
/// Another kernel, which never opts in.
__global__ void take_shared_memory() {}

int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    CHECK_CUDA_CALL(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

/// Was it refused? Takes the error away, so that no later check finds it.
bool refused(cudaError_t error) {
    cudaGetLastError();
    return error == cudaErrorInvalidValue;
}

/// How many of the four edges are not where they should be.
int wrong_edges(int64_t opt_in) {
    const auto launches = [](int64_t bytes) {
        take_shared_memory<<<1, 1, bytes>>>();
        return cudaGetLastError();
    };
    const auto opting_in = [](int64_t bytes) {
        return cudaFuncSetAttribute(copy_tile<1>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(bytes));
    };
    int wrong = 0;
    wrong += launches(WITHOUT_OPT_IN) != cudaSuccess;
    wrong += !refused(launches(WITHOUT_OPT_IN + 1));
    wrong += !refused(opting_in(opt_in + 1));
    wrong += opting_in(opt_in) != cudaSuccess;
    return wrong;
}

int main(int argc, char** argv) {
    Memory ladder("occupancy", "Copies with ever fewer blocks on a multiprocessor.", argc, argv);
    int64_t n = 1 << 27;
    ladder.program.command_line.size("--n", n, 4, int64_t{1} << 34, 20000, "words, in fours");
    ladder.program.sweep_sizes = {"--n 16Mi", "--n 256Mi"};
    ladder.program.test_sizes = {"--n 4", "--n 1020", "--n 1024", "--n 1028", "--n 4100"};
    ladder.columns = {
        {"shared", "bytes a block"}, {"blocks", "a multiprocessor"}, {"under way", "KB a multiprocessor"}};

    // What a block may reserve so that `blocks` of them fit, or 0: the tile does not fit so often.
    const auto shared_for = [&](int blocks, int64_t tile) -> int64_t {
        const int device = ladder.program.options.device;
        const int64_t all = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
        const int64_t reserved = attribute(cudaDevAttrReservedSharedMemoryPerBlock, device);
        const int64_t most = ladder.program.device.shared_bytes_per_block_opt_in;
        const int64_t bytes = std::min(most, (all / blocks - reserved) / 1024 * 1024);
        return bytes >= tile ? bytes : 0;
    };
    const auto probe = [&](Label label, auto kernel, int blocks, int per_thread) {
        Probe p{std::move(label)};
        const int64_t tile = int64_t{BLOCK_SIZE} * per_thread * 16;
        p.launch = [=, &n](const Task& t) {
            const int64_t bytes = shared_for(blocks, tile), vectors = n / 4;
            CHECK_CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(bytes)));
            kernel<<<static_cast<unsigned>(ceil_div(vectors, BLOCK_SIZE * per_thread)), BLOCK_SIZE, bytes>>>(
                reinterpret_cast<const uint4*>(t.in), reinterpret_cast<uint4*>(t.out), vectors);
        };
        p.check = [=, &n, &ladder](const std::vector<uint32_t>& out) {
            Comparison c = compare(
                n / 4 * 4, 0, [&](int64_t i) { return out[i]; },
                [&](int64_t i) { return word_at(ladder.program.options.seed, i); });
            if (blocks == 1) c.wrong += wrong_edges(ladder.program.device.shared_bytes_per_block_opt_in);
            return c;
        };
        p.read = [=](const std::vector<long long>&) {
            const int64_t bytes = shared_for(blocks, tile);
            int fit = 0;
            CHECK_CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, BLOCK_SIZE, bytes));
            return std::vector<Reading>{{static_cast<double>(bytes)},
                                        {static_cast<double>(fit), 1},
                                        {static_cast<double>(fit * tile) / 1024}};
        };
        p.obstacle = [=](const DeviceInfo&) -> std::string {
            return shared_for(blocks, tile) ? "" : "so many blocks do not fit";
        };
        ladder.probes.push_back(p);
    };
    Probe copy{{"copy", "no shared memory: the ceiling", Role::ceiling}};
    copy.launch = [&](const Task& t) { launch_copy<uint4>(t.in, t.out, n / 4 * 16); };
    copy.expected = [&](int64_t i) {
        return i < n / 4 * 4 ? word_at(ladder.program.options.seed, i)
                             : 0xFFFFFFFF;  // the rest stays as it was
    };
    ladder.ceiling = copy.name;
    ladder.probes.push_back(copy);
    for (int blocks : {8, 6, 4, 3, 2, 1})
        probe({"blocks_" + std::to_string(blocks),
               "one vector a thread, " + std::to_string(blocks) + " blocks fit"},
              copy_tile<1>, blocks, 1);
    for (int blocks : {4, 2, 1})
        probe({"at_once_" + std::to_string(blocks),
               "four vectors a thread, " + std::to_string(blocks) + " blocks fit"},
              copy_tile<4>, blocks, 4);
    return ladder.run([&] {
        Layout layout;
        layout.headline = std::to_string(n) + " words";
        layout.in = layout.out = n;
        layout.bytes = layout.working_set = 8.0 * static_cast<double>(n / 4 * 4);
        return layout;
    });
}
