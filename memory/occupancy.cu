// occupancy.cu: how much shared memory a block takes, how many blocks fit, and the bandwidth that is left.
//
// Idea:   a block copies a tile through shared memory: load, barrier, store. While it waits at the barrier,
//         other blocks must keep the memory busy; how many there are depends on the shared memory that each
//         reserves. What counts is bytes in flight: blocks x the bytes that a block loads before it waits.
//         blocks_B: reserves as much as lets B blocks fit on a multiprocessor.
//         at_once:  the same tile, and four times the loads in flight of a thread: with few blocks a thread
//                   has to ask for more.
// Edges:  without opting in a block has 48 KB at most; with cudaFuncSetAttribute up to what the device
//         allows, to the byte. One byte more is refused, both ways; blocks_1 checks that.
// Checked: the copy.
// Text 3, 48, 96, 164 KB; text 1, dynamic shared memory.
#include <algorithm>

#include "copy.cuh"
#include "memory.cuh"

constexpr int BLOCK_SIZE = 256;
constexpr int64_t WITHOUT_OPT_IN = 48 * 1024;

/// Copies BLOCK_SIZE x PER_THREAD vectors a block. The tile is the first part of the shared memory, the rest
/// is only reserved.
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

class Occupancy : public Memory {
 public:
    Occupancy(int argc, char** argv)
        : Memory("occupancy", "Copies with ever fewer blocks on a multiprocessor.", argc, argv) {
        program.command_line.size("--n", n, 4, int64_t{1} << 34, 20000, "words, in fours");
        program.sweep_sizes = {"--n 16Mi", "--n 256Mi"};
        program.test_sizes = {"--n 4", "--n 1020", "--n 1024", "--n 1028", "--n 4100"};
        family.ceiling = "copy";
        family.columns = {{"shared", "bytes a block"},
                          {"blocks", "a multiprocessor"},
                          {"in flight", "KB a multiprocessor"}};
        family.layout = [this] {
            Layout layout;
            layout.headline = std::to_string(n) + " words";
            layout.in = layout.out = n;
            layout.bytes = layout.working_set = 8.0 * static_cast<double>(n / 4 * 4);
            return layout;
        };
        ceiling("copy", "no shared memory: the ceiling", [this](const Buffers& t) {
            launch_copy<uint4>(t.in, t.out, n / 4 * 16);
        }).check = [this](const std::vector<uint32_t>& out) { return compare_copy(out); };
    }

    /// Copies with `blocks` blocks on a multiprocessor.
    template <int PER_THREAD>
    void copies(const std::string& name, const std::string& note, int blocks) {
        constexpr int64_t tile = int64_t{BLOCK_SIZE} * PER_THREAD * 16;
        Entry& v = variant(name, note, [=](const Buffers& t) {
            const int64_t bytes = shared_for(blocks, tile), vectors = n / 4;
            CHECK_CUDA_CALL(cudaFuncSetAttribute(
                copy_tile<PER_THREAD>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
            copy_tile<PER_THREAD>
                <<<static_cast<unsigned>(ceil_div(vectors, BLOCK_SIZE * PER_THREAD)), BLOCK_SIZE, bytes>>>(
                    reinterpret_cast<const uint4*>(t.in), reinterpret_cast<uint4*>(t.out), vectors);
        });
        v.check = [=](const std::vector<uint32_t>& out) {
            Comparison c = compare_copy(out);
            if (blocks == 1) c.wrong += wrong_edges(program.device.shared_bytes_per_block_opt_in);
            return c;
        };
        v.read = [=](const std::vector<long long>&) {
            const int64_t bytes = shared_for(blocks, tile);
            int fit = 0;
            CHECK_CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, copy_tile<PER_THREAD>,
                                                                          BLOCK_SIZE, bytes));
            return std::vector<Reading>{{static_cast<double>(bytes)},
                                        {static_cast<double>(fit), 1},
                                        {static_cast<double>(fit * tile) / 1024}};
        };
        v.unless([=](const DeviceInfo&, const Buffers&) {
            return shared_for(blocks, tile) ? "" : "so many blocks do not fit";
        });
    }

 private:
    int64_t n = 1 << 27;

    /// What a block may reserve so that `blocks` of them fit, or 0: the tile does not fit so often.
    int64_t shared_for(int blocks, int64_t tile) const {
        const int device = program.options.device;
        const int64_t all = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
        const int64_t reserved = attribute(cudaDevAttrReservedSharedMemoryPerBlock, device);
        const int64_t most = program.device.shared_bytes_per_block_opt_in;
        const int64_t bytes = std::min(most, (all / blocks - reserved) / 1024 * 1024);
        return bytes >= tile ? bytes : 0;
    }
    Comparison compare_copy(const std::vector<uint32_t>& out) const {
        // What is left over of a vector stays as it was.
        return compare(
            n, 0, [&](int64_t i) { return out[i]; },
            [&](int64_t i) { return i < n / 4 * 4 ? word_at(program.options.seed, i) : 0xFFFFFFFF; });
    }
};

int main(int argc, char** argv) {
    Occupancy ladder(argc, argv);
    for (const int blocks : {8, 6, 4, 3, 2, 1}) {
        const std::string b = std::to_string(blocks);
        ladder.copies<1>("blocks_" + b, "one vector a thread, " + b + " blocks fit", blocks);
    }
    for (const int blocks : {4, 2, 1}) {
        const std::string b = std::to_string(blocks);
        ladder.copies<4>("at_once_" + b, "four vectors a thread, " + b + " blocks fit", blocks);
    }
    return ladder.run();
}
