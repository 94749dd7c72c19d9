// bank_size.cu: cudaDeviceSetSharedMemConfig: set, read back, measured. Nothing changes.
//
// Idea:   Kepler (2012) could make its banks 8 bytes wide, for programs with many doubles. Since Maxwell (2014) banks
//         are 4 bytes wide, and the call is accepted and ignored: the setting read back stays "4 bytes", and each
//         pattern takes as many cycles as before. It is deprecated, and newer toolkits may lack it: then CMake leaves
//         this program out, and says so.
// The pattern that would show it: doubles in a row. With 8-byte banks a request of a warp would be one wavefront, with
//         4-byte banks it is two (--type double, load).
// Checked: as in banks.cu; and that what is read back is 4 bytes, whatever was set.
// Text 3, cudaDeviceSetSharedMemConfig.
#include "banks.cuh"

// Deprecated: that is what this program is about.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma nv_diag_suppress 1215, 1444

int main(int argc, char** argv) {
    Banks ladder("bank_size", "Sets the width of a bank, reads it back, and measures.", argc, argv);
    ladder.program.sweep_sizes = {"--type double", "--type float"};
    for (const char* type : {"double", "float", "float4"})
        for (const char* steps : {"1", "9"})
            ladder.program.test_sizes.push_back(std::string("--type ") + type + " --steps " + steps);
    ladder.columns.push_back({"read back", "bytes"});
    const auto probe = [&](const std::string& name, const std::string& note, Pattern pattern,
                           cudaSharedMemConfig config) {
        ladder.pattern(
            {name, note}, pattern, "", [=] { CHECK_CUDA_CALL(cudaDeviceSetSharedMemConfig(config)); },
            [] {
                cudaSharedMemConfig now;
                CHECK_CUDA_CALL(cudaDeviceGetSharedMemConfig(&now));
                return Reading{now == cudaSharedMemBankSizeEightByte ? 8.0 : 4.0, 4, 4};
            });
    };
    probe("row_4_bytes", "32 elements in a row, banks of 4 bytes", stride_of(1),
          cudaSharedMemBankSizeFourByte);
    probe("row_8_bytes", "the same, 8 bytes asked for", stride_of(1), cudaSharedMemBankSizeEightByte);
    probe("column_4_bytes", "a column of tile[32][32], banks of 4 bytes", stride_of(32),
          cudaSharedMemBankSizeFourByte);
    probe("column_8_bytes", "the same, 8 bytes asked for", stride_of(32), cudaSharedMemBankSizeEightByte);
    return ladder.run("shared memory");
}
