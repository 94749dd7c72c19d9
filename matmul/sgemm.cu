// sgemm.cu: the top rung for floats on ordinary cores, against cuBLAS.
#include "sgemm.cuh"

#include "cublas.cuh"

int main(int argc, char** argv) {
    Matmul ladder("sgemm", "Multiplies floats on CUDA cores: the top rung.", argc, argv);
    ladder.float_variant("large", "tiles of 128 x 128", launch_sgemm<SgemmLarge>);
    ladder.float_variant("small", "tiles of 64 x 128", launch_sgemm<SgemmSmall>);
    ladder.float_variant("sgemm", "the tile for the size", [](auto t) { launch_sgemm(t); });
    add_cublas(ladder);
    ladder.sweep_sizes(
        {"--mnk 1024", "--mnk 2048", "--mnk 4096", "--mnk 8192", "--m 4000 --n 3000 --k 2000"});
    return ladder.run();
}
