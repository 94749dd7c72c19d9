// sgemm.cu: the top rung for floats on ordinary cores, against cuBLAS.
//
// Idea:   everything before, and what still costs time then, which is what a scheduler issues besides multiply-adds, and
//         when it issues nothing at all:
//         barriers: small blocks, four on a multiprocessor. While one waits, the others multiply, and two buffers
//         are enough for each.
//         copies: addresses are kept and moved on, not computed; k's odd end comes first, so that the loop has no test
//         (multiply_tile). B comes by cp.async; A through registers, 16 bytes a load, to be transposed on the way:
//         cp.async would need four times the copies.
//         registers: a multiply-add reads three, which lie in two banks. In the order of Results::add the factor from B
//         stays for a whole column of results, and only two are read.
//         the last round of tiles, in which some multiprocessors have one more than others, who then stand idle: tiles are
//         64 x 128, and where that leaves fewer idle, what does not go round is tiles of 32 x 64 (rows_in_large_tiles).
// Formula: 8 x 8 results a thread: 4 reads for 64 multiply-adds; 4 x 4: 2 for 16. So multiply-adds are 94 and 89 % of
//         what is issued, before any copy.
// Cost:   a step along k is unrolled: 18 and 10 KB of code for the loop.
// Wrong still: whether the compiler finds registers in different banks hangs on small things in the source: the order that
//         begins with the last column (FROM_LAST) was found by trying. And tensor cores do this many times faster, for
//         products that need not be float's.
// Texts: none goes this far.
#include "sgemm.cuh"

#include "cublas.cuh"

int main(int argc, char** argv) {
    Matmul ladder("sgemm", "Multiplies floats on CUDA cores: the top rung.", argc, argv);
    ladder.variant<float>("tile_64x128", "8 x 8 results a thread", [](auto t) { launch_sgemm(t, t.m); });
    ladder.variant<float>("tile_32x64", "4 x 4 results a thread", [](auto t) { launch_sgemm(t, 0); });
    ladder.variant<float>("sgemm", "both, as the size asks for", [](auto t) { launch_sgemm(t); });
    add_cublas(ladder);
    ladder.program.sweep_sizes = {"--mnk 512",  "--mnk 1024", "--mnk 2048",
                                  "--mnk 4096", "--mnk 8192", "--m 4000 --n 3000 --k 2000"};
    ladder.program.test_sizes.push_back("--m 9603 --n 130 --k 7");  // both tiles in one launch
    return ladder.run();
}
