// Cooperative groups: tiles, coalesced groups, reductions and scans, the grid, clusters and their
// shared memory.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <algorithm>
#include <numeric>

#include "opcodes.cuh"

namespace cg = cooperative_groups;

namespace {

constexpr int THREADS = 64;

// ---- tiles of a warp

template <int size>
__global__ void tiles(const int* in, int* out) {
    auto tile = cg::tiled_partition<size>(cg::this_thread_block());
    int t = threadIdx.x, v = in[t];
    out[t] = cg::reduce(tile, v, cg::plus<int>());
    out[THREADS + t] = cg::reduce(tile, v, cg::greater<int>());
    out[2 * THREADS + t] = cg::inclusive_scan(tile, v, cg::plus<int>());
    out[3 * THREADS + t] = cg::exclusive_scan(tile, v, cg::plus<int>());
    out[4 * THREADS + t] = tile.shfl(v, 0) + 1000 * tile.any(v > 95) + 2000 * tile.all(v > 5) +
                           10000 * __popc(tile.ballot(v > 50));
    out[5 * THREADS + t] = int(tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.size());
}
template <int size>
std::vector<int> hostTiles(const std::vector<int>& in) {
    std::vector<int> out(6 * THREADS);
    for (int t = 0; t < THREADS; ++t) {
        int first = t / size * size, sum = 0, most = in[first], before = 0, votes = 0;
        bool any = false, all = true;
        for (int i = first; i < first + size; ++i) {
            if (i == t) before = sum;
            sum += in[i];
            most = std::max(most, in[i]);
            any = any || in[i] > 95;
            all = all && in[i] > 5;
            votes += in[i] > 50;
        }
        int results[] = {sum,
                         most,
                         before + in[t],
                         before,
                         in[first] + 1000 * any + 2000 * all + 10000 * votes,
                         t % size + 100 * (t / size) + 10000 * size};
        for (int k = 0; k < 6; ++k) out[k * THREADS + t] = results[k];
    }
    return out;
}
template <int size>
void tilesOf(Checks& checks, const std::vector<int>& in) {
    Device<int> from(in), out(6 * THREADS);
    tiles<size><<<1, THREADS>>>(from, out);
    checks.equal("tiles of " + std::to_string(size), out.get(), hostTiles<size>(in));
}

template <class T, class Operation>
__global__ void reduceWarp(const T* in, T* out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    out[threadIdx.x] = cg::reduce(warp, in[threadIdx.x], Operation());
}
template <class T, class Operation, class Host>
void reduceOf(Checks& checks, const std::string& what, Host host) {
    std::vector<T> in(32);
    for (int i = 0; i < 32; ++i) in[i] = T((i * 37 + 11) % 101);
    T want = in[0];
    for (int i = 1; i < 32; ++i) want = host(want, in[i]);
    Device<T> from(in), out(32);
    reduceWarp<T, Operation><<<1, 32>>>(from, out);
    checks.equal("cg::reduce, " + what, out.get(), std::vector<T>(32, want));
}

// The lanes that took one branch are a group of their own.
__global__ void coalesced(const int* in, int* out, int* count) {
    int v = in[threadIdx.x];
    out[threadIdx.x] = -1;
    if (v % 3 == 0) {
        cg::coalesced_group group = cg::coalesced_threads();
        int first = 0;  // one atomic for all of them
        if (group.thread_rank() == 0) first = atomicAdd(count, int(group.size()));
        first = group.shfl(first, 0);
        out[threadIdx.x] = int(group.thread_rank()) + 100 * int(group.size()) +
                           10000 * cg::reduce(group, 1, cg::plus<int>());
        count[1 + first + group.thread_rank()] = v;
    }
}
__global__ void partitions(const int* in, int* out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int v = in[threadIdx.x];
    auto labeled = cg::labeled_partition(warp, v % 4);
    auto binary = cg::binary_partition(warp, v > 50);
    out[threadIdx.x] = int(labeled.size() + 100 * binary.size() + 10000 * binary.thread_rank());
}
__global__ void blockGroup(int* out) {
    __shared__ int s[THREADS];
    auto block = cg::this_thread_block();
    s[block.thread_rank()] = int(block.thread_rank());
    block.sync();
    auto half = cg::tiled_partition(block, 16);
    int v = s[THREADS - 1 - block.thread_rank()];
    half.sync();
    out[block.thread_rank()] = v + 1000 * int(block.group_index().x) + int(half.size()) * 10000 +
                               int(block.dim_threads().y) * 1000000;
}

// ---- the grid

__global__ void gridSteps(int* a, int* b, int steps) {
    cg::grid_group grid = cg::this_grid();
    long long n = grid.size(), i = grid.thread_rank();
    for (int k = 0; k < steps; ++k) {
        b[i] = a[(i + 1) % n] + a[(i + n - 1) % n];
        grid.sync();
        int* swapped = a;
        a = b;
        b = swapped;
    }
}

// ---- clusters

__global__ void __cluster_dims__(4) clusterRing(int* out) {
    __shared__ int s[32];
    cg::cluster_group cluster = cg::this_cluster();
    int rank = int(cluster.block_rank()), blocks = int(cluster.num_blocks());
    s[threadIdx.x] = 1000 * blockIdx.x + threadIdx.x;
    cluster.sync();
    const int* next = cluster.map_shared_rank(s, unsigned((rank + 1) % blocks));
    out[32 * blockIdx.x + threadIdx.x] = next[31 - threadIdx.x];
    cluster.sync();
}
// A histogram spread over the shared memory of the cluster: each block owns a part of the bins.
__global__ void __cluster_dims__(2) clusterHistogram(const int* in, int n, int* out) {
    __shared__ int bins[8];
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    cluster.sync();
    for (int i = int(cluster.thread_rank()); i < n; i += int(cluster.num_threads())) {
        int bin = in[i] % 16;
        atomicAdd(cluster.map_shared_rank(bins, unsigned(bin / 8)) + bin % 8, 1);
    }
    cluster.sync();
    if (threadIdx.x < 8) out[8 * cluster.block_rank() + threadIdx.x] = bins[threadIdx.x];
}
// Stores into the neighbour's memory, and what the cluster's registers say.
__global__ void clusterStores(int* out) {
    __shared__ int s[32];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), to = rank ^ 1;
    cluster.map_shared_rank(s, to)[threadIdx.x] = int(100 * rank + threadIdx.x);
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    out[32 * blockIdx.x + threadIdx.x] = s[threadIdx.x] + 10000 * int(cluster.query_shared_rank(s) == rank) +
                                         100000 * int(cluster.dim_blocks().x);
}
// The same by PTX: mapa makes the address in the neighbour's memory.
__global__ void __cluster_dims__(2) clusterByPtx(int* out) {
    __shared__ int s[32];
    unsigned rank, own = unsigned(__cvta_generic_to_shared(s + threadIdx.x)), remote;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    s[threadIdx.x] = int(100 * rank + threadIdx.x);
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(own), "r"(rank ^ 1));
    int v;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(remote) : "memory");
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 5;" ::"r"(remote) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    out[32 * blockIdx.x + threadIdx.x] = v + 1000 * s[threadIdx.x];
}

void clusters(Checks& checks) {
    Device<int> ring(8 * 32);
    clusterRing<<<8, 32>>>(ring);
    std::vector<int> want(8 * 32);
    for (int i = 0; i < 8 * 32; ++i) {
        int block = i / 32;
        want[i] = 1000 * (block / 4 * 4 + (block + 1) % 4) + 31 - i % 32;
    }
    checks.equal("cluster's ring", ring.get(), want);

    std::vector<int> numbers(500), bins(16);
    Random random(9);
    for (int& v : numbers) ++bins[(v = int(random.next() % 1000)) % 16];
    Device<int> in(numbers), counted(16);
    clusterHistogram<<<2, THREADS>>>(in, 500, counted);
    checks.equal("cluster's histogram", counted.get(), bins);

    cudaLaunchConfig_t config{};
    config.gridDim = 4;
    config.blockDim = 32;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {2, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    Device<int> stored(4 * 32);
    cudaError_t launched = cudaLaunchKernelEx(&config, clusterStores, static_cast<int*>(stored));
    checks.that(launched == cudaSuccess, "cudaLaunchKernelEx with a cluster");
    want.resize(4 * 32);
    for (int i = 0; i < 4 * 32; ++i) want[i] = 100 * (i / 32 % 2 ^ 1) + i % 32 + 10000 + 200000;
    checks.equal("cluster's stores", stored.get(), want);

    clusterByPtx<<<4, 32>>>(stored);
    for (int i = 0; i < 4 * 32; ++i) {
        int rank = i / 32 % 2, lane = i % 32;
        want[i] = 100 * (rank ^ 1) + lane + 1000 * (100 * rank + lane + 5);
    }
    checks.equal("mapa and barrier.cluster", stored.get(), want);
}

void grid(Checks& checks) {
    std::vector<int> values(4 * THREADS);
    std::iota(values.begin(), values.end(), 0);
    Device<int> a(values), b(values.size());
    int *first = a, *second = b, steps = 4;
    void* arguments[] = {&first, &second, &steps};
    cudaError_t launched = cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(gridSteps), 4, THREADS,
                                                       arguments, 0, nullptr);
    checks.that(launched == cudaSuccess, "cooperative launch");
    int n = int(values.size());
    for (int k = 0; k < steps; ++k) {
        auto before = values;
        for (int i = 0; i < n; ++i) values[i] = before[(i + 1) % n] + before[(i + n - 1) % n];
    }
    checks.equal("grid.sync", a.get(), values);
}

}  // namespace

int main() {
    Checks checks("cooperative");
    std::vector<int> in(THREADS);
    Random random(10);
    for (int& v : in) v = int(random.next() % 100);
    tilesOf<32>(checks, in);
    tilesOf<16>(checks, in);
    tilesOf<8>(checks, in);
    tilesOf<4>(checks, in);
    tilesOf<2>(checks, in);
    tilesOf<1>(checks, in);

    reduceOf<int, cg::plus<int>>(checks, "int +", [](int a, int b) { return a + b; });
    reduceOf<int, cg::less<int>>(checks, "int min", [](int a, int b) { return std::min(a, b); });
    reduceOf<unsigned, cg::bit_xor<unsigned>>(checks, "unsigned xor",
                                              [](unsigned a, unsigned b) { return a ^ b; });
    reduceOf<unsigned, cg::bit_or<unsigned>>(checks, "unsigned or",
                                             [](unsigned a, unsigned b) { return a | b; });
    reduceOf<float, cg::plus<float>>(checks, "float +", [](float a, float b) { return a + b; });
    reduceOf<double, cg::greater<double>>(checks, "double max",
                                          [](double a, double b) { return std::max(a, b); });
    reduceOf<long long, cg::plus<long long>>(checks, "long long +",
                                             [](long long a, long long b) { return a + b; });

    Device<int> from(in), out(THREADS), compacted(1 + 32);
    coalesced<<<1, 32>>>(from, out, compacted);
    std::vector<int> want(32, -1), kept(1 + 32);
    int members = int(std::count_if(in.begin(), in.begin() + 32, [](int v) { return v % 3 == 0; }));
    for (int i = 0; i < 32; ++i) {
        if (in[i] % 3) continue;
        want[i] = kept[0] + 100 * members + 10000 * members;
        kept[1 + kept[0]++] = in[i];
    }
    auto got = out.get();
    got.resize(32);
    checks.equal("coalesced group", got, want);
    checks.equal("compaction with one atomic", compacted.get(), kept);

    partitions<<<1, 32>>>(from, out);
    int ranks[2] = {};
    for (int i = 0; i < 32; ++i) {
        int same = 0, side = 0;
        for (int j = 0; j < 32; ++j) {
            same += in[j] % 4 == in[i] % 4;
            side += (in[j] > 50) == (in[i] > 50);
        }
        want[i] = same + 100 * side + 10000 * ranks[in[i] > 50]++;
    }
    got = out.get();
    got.resize(32);
    checks.equal("labeled and binary partition", got, want);

    blockGroup<<<1, dim3(32, 2)>>>(out);
    want.resize(THREADS);
    for (int i = 0; i < THREADS; ++i) want[i] = THREADS - 1 - i + 160000 + 2000000;
    checks.equal("block and its dynamic tiles", out.get(), want);

    grid(checks);
    clusters(checks);
    return checks.finish();
}
