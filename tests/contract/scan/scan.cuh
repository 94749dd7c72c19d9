// scan.cuh: the problem of this family. out[i] = in[0] + ... + in[i], for n ints.
#pragma once
#include <string>
#include <vector>

#include "copy.cuh"
#include "fill.hpp"
#include "ladder.hpp"

struct ScanFamily {
    static constexpr const char* NAME = "scan";
    using Types = TypeList<int>;
    struct Traits {
        bool copies = false;  ///< the input itself, not its sums
    };
    template <typename T>
    struct Task {
        const T* in;
        T* out;
        int64_t n;
    };

    explicit ScanFamily(Program& program) {
        program.command_line.size("--n", n, 0, int64_t{1} << 31, 3000, "numbers");
        program.sweep_sizes = {"--n 65536"};
        program.test_sizes = {"--n 0", "--n 1", "--n 255", "--n 257", "--n 1031"};
    }
    std::string nothing_to_do() const { return n ? "" : "there are no numbers"; }
    template <typename L>
    static void add_ceiling(L& ladder) {
        ladder
            .ceiling("copy", "16 bytes a thread: the ceiling",
                     [](const auto& t) {
                         launch_copy<uint4>(t.in, t.out, t.n * static_cast<int64_t>(sizeof(*t.in)));
                     })
            .copies = true;
    }
    int64_t n = 1 << 20;

    template <typename T>
    struct Work {
        static double host_bytes(const ScanFamily& family) { return 3.0 * sizeof(T) * family.n; }

        Work(const ScanFamily& family, const Program& program)
            : in(family.n),
              out(family.n),
              input(family.n),
              output(family.n),
              sums(family.n),
              task{in.data(), out.data(), family.n} {
            fill_small_integers(input.data(), family.n, 100, program.options.seed);
            in.upload(input.data());
            T sum = 0;
            for (int64_t i = 0; i < family.n; ++i) sums[i] = sum += input[i];
        }
        void describe(Problem& problem) const {
            problem.headline = std::to_string(task.n) + " ints";
            problem.working_set = 2.0 * static_cast<double>(in.bytes());
            problem.rates = {{"GB/s", problem.working_set}};
            problem.ceiling = "copy";
        }
        void poison() { out.poison(); }
        Comparison check(const Traits& variant) {
            out.download(output.data());
            const std::vector<T>& expected = variant.copies ? input : sums;
            return compare(
                task.n, 0, [&](int64_t i) { return output[i]; }, [&](int64_t i) { return expected[i]; });
        }

     private:
        DeviceBuffer<T> in, out;
        std::vector<T> input, output, sums;

     public:
        const Task<T> task;
    };
};

using Scan = Ladder<ScanFamily>;
