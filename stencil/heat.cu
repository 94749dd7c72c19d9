// heat.cu: heat flow in a plate until nothing changes any more: the stencil at work.
//
// Problem: a plate of width 1 and height (ny - 1) / (nx - 1), cold inside. Its edge is kept: at the top the
//         temperature is sin(pi x), on the other three sides 0. Heat flows, dT/dt = T_xx + T_yy, until
//         T_xx + T_yy = 0. The solution is known: sin(pi x) sinh(pi (h - y)) / sinh(pi h).
// Method: one explicit step of dt = r dx^2 is a 5-point stencil: 1 - 4r in the centre, r around it. It is
//         stable up to r = 1/4; with r = 1/5 all weights are equal. The edge is the rule `keep`.
//         one_step   a step a launch.
//         fused      --steps of them, by registers (temporal_2d.cu).
// Enough: every CHECKS launches a reduction finds the largest change of the last launch. The slowest wave
//         shrinks by a factor 1 - g a step, so k steps that change the plate by delta leave about
//         delta (1 - g)^k / (1 - (1 - g)^k) to come. It is enough when that is a tenth of what the grid
//         itself is wrong by.
// Check:  the solution, to within dx^2 pi^4 / 48 (what the 5-point formula leaves out is at most
//         dx^2 / 12 (T_xxxx + T_yyyy) = dx^2 pi^4 / 6, and a source of that size warms a plate of width 1
//         by at most an eighth of it), that tenth, and the roundings: each step's is a source, too.
// Cost:   the number of steps grows with the square of nx: a plate that fits the L2 cache takes tens of
//         thousands, and launches are what they cost. That is what the fused steps save here. (A solver
//         that only wants the end would use multigrid.)
// Texts: none goes this far.
#include "plate.hpp"
#include "register_tile.cuh"
#include "report.hpp"

constexpr int CHECKS = 64;  // launches between two of them; even

/// The largest |a - b|. Doubles that are not negative order like their bits, read as an integer; NaN comes last.
template <typename T>
__global__ void largest_change(const T* a, const T* b, int64_t n, unsigned long long* largest) {
    unsigned long long mine = 0;
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) {
        const double change = fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        mine = max(mine, static_cast<unsigned long long>(__double_as_longlong(change)));
    }
    __shared__ unsigned long long of_warp[WARP_SIZE];
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
        mine = max(mine, __shfl_down_sync(ALL_LANES, mine, offset));
    if (threadIdx.x % WARP_SIZE == 0) of_warp[threadIdx.x / WARP_SIZE] = mine;
    __syncthreads();
    if (threadIdx.x >= WARP_SIZE) return;
    mine = threadIdx.x < blockDim.x / WARP_SIZE ? of_warp[threadIdx.x] : 0;
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
        mine = max(mine, __shfl_down_sync(ALL_LANES, mine, offset));
    if (threadIdx.x == 0) atomicMax(largest, mine);
}

/// The plate on the device, and how it gets from the start to the end.
template <typename T>
struct Flow {
    const Plate plate;
    const int fused;    ///< steps in one launch of the variant fused
    int64_t steps = 0;  ///< that the last run took
    std::vector<T> start = plate.start<T>();
    Coefficients<T> weights{};
    DeviceBuffer<T> initial, cells, scratch;
    DeviceBuffer<unsigned long long> change{1};

    Flow(const Plate& p, int steps_of_fused)
        : plate(p),
          fused(steps_of_fused),
          initial(p.domain.count()),
          cells(p.domain.count()),
          scratch(p.domain.count()) {
        for (int k = 0; k < 5; ++k) weights.at[k] = static_cast<T>(Plate::weight(k));
        initial.upload(start.data());
    }

    /// From the start until there is little to come, `k` steps a launch; calls watch() at each check. Ends with the
    /// plate in `cells`, and `steps` says how many it took.
    template <typename Watch>
    void run(int k, const Watch& watch) {
        const Domain& domain = plate.domain;
        const int64_t most = plate.most_steps() + 2 * CHECKS * k;
        CHECK_CUDA_CALL(
            cudaMemcpyAsync(cells.data(), initial.data(), initial.bytes(), cudaMemcpyDeviceToDevice));
        double largest;
        steps = 0;
        watch();
        do {
            for (int pair = 0; pair < CHECKS / 2; ++pair, steps += 2 * k) {
                take_steps<1>(cells.data(), scratch.data(), domain, weights, k);
                take_steps<1>(scratch.data(), cells.data(), domain, weights, k);
            }
            CHECK_CUDA_CALL(cudaMemsetAsync(change.data(), 0, change.bytes()));
            largest_change<<<static_cast<unsigned>(std::min<int64_t>(ceil_div(domain.count(), 1024), 1024)),
                             256>>>(cells.data(), scratch.data(), domain.count(), change.data());
            CHECK_KERNEL();
            CHECK_CUDA_CALL(cudaMemcpy(&largest, change.data(), sizeof largest, cudaMemcpyDeviceToHost));
            watch();
        } while (largest > plate.enough(k) && steps < most);
    }
    void run(int k) {
        run(k, [] {});
    }
};

/// A picture, a byte a cell: 0 is black, 1 is white (PGM).
template <typename T>
void write_frame(const std::string& directory, const Flow<T>& flow) {
    const Domain& domain = flow.plate.domain;
    std::vector<T> cells(domain.count());
    flow.cells.download(cells.data());
    std::string picture = "P5\n" + std::to_string(domain.nx) + " " + std::to_string(domain.ny) + "\n255\n";
    for (const T cell : cells)
        picture += static_cast<char>(std::lround(255 * std::clamp(static_cast<double>(cell), 0.0, 1.0)));
    char name[40];
    std::snprintf(name, sizeof name, "/heat-%09lld.pgm", static_cast<long long>(flow.steps));
    OutputFile("--frames", directory + name).write(picture);
}

/// A run of fused in pictures, with twice as many steps between two of them each time; and the end.
template <typename T>
void film(Flow<T>& flow, const std::string& directory) {
    int64_t next = 0;
    flow.run(flow.fused, [&] {
        if (flow.steps < next) return;
        write_frame(directory, flow);
        next = std::max<int64_t>(1, 2 * flow.steps);
    });
    write_frame(directory, flow);
}

struct HeatFamily {
    static constexpr const char* NAME = "stencil";
    using Types = TypeList<double, float>;
    struct Traits {
        bool copies = false;  ///< the plate as it was
    };
    template <typename T>
    using Task = Flow<T>;

    explicit HeatFamily(Program& the_program) : program(the_program) {
        CommandLine& line = program.command_line;
        line.size("--nx", nx, 3, 4096, 16, "cells across the plate, which has the width 1");
        line.size("--ny", ny, 3, 4096, 16, "cells down");
        line.size_of_all("--n", {"--nx", "--ny"}, "cells in both directions");
        line.number("--steps", steps, 1, MOST_STEPS, "time steps in one launch of the variant fused");
        line.text("--frames", frames, "DIRECTORY", "write pictures there (PGM), ever more steps apart");
        program.sweep_sizes = {"--n 64", "--n 128"};
        program.test_sizes = {
            "--n 3",           "--nx 4 --ny 3",           "--nx 3 --ny 9 --steps 3", "--n 16 --type float",
            "--nx 13 --ny 18", "--nx 20 --ny 7 --steps 1"};
        program.large_sizes = {"--nx 301 --ny 127", "--nx 127 --ny 301 --steps 16"};
    }
    std::string nothing_to_do() const { return ""; }
    template <typename L>
    static void add_ceiling(L& ladder) {
        ladder
            .ceiling("copy", "float4 copy: the ceiling of a step",
                     [](auto& f) { launch_copy<uint4>(f.initial.data(), f.cells.data(), f.cells.bytes()); })
            .copies = true;
    }

    Program& program;
    int64_t nx = 128, ny = 128, steps = 8;
    std::string frames;

    template <typename T>
    struct Work {
        static double host_bytes(const HeatFamily& family) {  // the start and a result
            return 2.0 * sizeof(T) * static_cast<double>(family.nx * family.ny);
        }

        Work(const HeatFamily& family, const Program& program)
            : task(Plate(family.nx, family.ny), static_cast<int>(family.steps)),
              headline("heat, " + std::to_string(family.nx) + " x " + std::to_string(family.ny) + " " +
                       program.options.type + ", to convergence"),
              result(task.cells.count()) {
            if (!family.frames.empty()) film(task, family.frames);
        }
        void describe(Problem& problem) const {
            problem.headline = headline;
            problem.rates = rates(1);
            problem.working_set = bytes();
            problem.ceiling = "copy";
        }
        /// The number of steps is known only in the end, so each way is gone once before it is timed.
        void describe(Variant& v, const Traits& variant) {
            if (variant.copies) return;
            v.launch();
            v.steps = task.steps;
            v.rates = rates(task.steps);
        }
        void poison() {
            task.cells.poison();
            task.scratch.poison();
        }
        Comparison check(const Traits& variant) {
            task.cells.download(result.data());
            const Plate& plate = task.plate;
            const auto against = [&](double largest_error, const auto& right) {
                return compare(
                    task.cells.count(), largest_error, [&](int64_t i) { return result[i]; }, right);
            };
            if (variant.copies) return against(0, [&](int64_t i) { return task.start[i]; });
            return against(plate.tolerance<T>(), [&](int64_t i) {
                return plate.solution(i % plate.domain.nx, i / plate.domain.nx);
            });
        }

        Flow<T> task;

     private:
        double bytes() const { return 2.0 * static_cast<double>(task.cells.bytes()); }
        std::vector<Rate> rates(int64_t steps) const {
            return {{"GB/s", bytes()},
                    {"GPt/s", static_cast<double>(task.cells.count()) * static_cast<double>(steps)}};
        }
        const std::string headline;
        std::vector<T> result;
    };
};

int main(int argc, char** argv) {
    Ladder<HeatFamily> ladder("heat", "Heat flows in a plate until nothing changes.", argc, argv);
    ladder.variant("one_step", "a step a launch", [](auto& flow) { flow.run(1); });
    ladder.variant("fused", "--steps of them a launch", [](auto& flow) { flow.run(flow.fused); });
    return ladder.run();
}
