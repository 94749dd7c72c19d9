// bank_size.cu: cudaDeviceSetSharedMemConfig: set, read back, measured. Nothing changes.
//
// Idea:   Kepler (2012) could make its banks 8 bytes wide, for programs with many doubles. Since Maxwell
//         (2014) banks are 4 bytes wide, and the call is accepted and ignored: the setting read back stays
//         "4 bytes", and each pattern takes as many cycles as before. It is deprecated, and newer toolkits
//         may lack it: then CMake leaves this program out, and says so.
// The pattern that would show it: doubles in a row. With 8-byte banks a request of a warp would be one
//         wavefront, with 4-byte banks it is two (--type double, load).
// Checked: as in banks.cu; and that what is read back is 4 bytes, whatever was set.
// Text 3, cudaDeviceSetSharedMemConfig.
#include "banks.cuh"

// Deprecated: that is what this program is about.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma nv_diag_suppress 1215, 1444

/// One more column: what the runtime says that the width is.
void pattern_after_setting(Banks& ladder, const std::string& name, const std::string& note,
                           const Pattern& pattern, cudaSharedMemConfig config) {
    auto& v =
        ladder.pattern(name, note, pattern, [=] { CHECK_CUDA_CALL(cudaDeviceSetSharedMemConfig(config)); });
    v.read = [read = v.read](const std::vector<long long>& clocks) {
        cudaSharedMemConfig now;
        CHECK_CUDA_CALL(cudaDeviceGetSharedMemConfig(&now));
        std::vector<Reading> readings = read(clocks);
        readings.push_back({now == cudaSharedMemBankSizeEightByte ? 8.0 : 4.0, 4, 4});
        return readings;
    };
}

int main(int argc, char** argv) {
    Banks ladder("bank_size", "Sets the width of a bank, reads it back, and measures.", argc, argv);
    ladder.program.sweep_sizes = {"--type double", "--type float"};
    for (const char* type : {"double", "float", "float4"})
        for (const char* steps : {"1", "9"})
            ladder.program.test_sizes.push_back(std::string("--type ") + type + " --steps " + steps);
    ladder.family.columns.push_back({"read back", "bytes"});
    pattern_after_setting(ladder, "row_4_bytes", "32 elements in a row, banks of 4 bytes", stride_of(1),
                          cudaSharedMemBankSizeFourByte);
    pattern_after_setting(ladder, "row_8_bytes", "the same, 8 bytes asked for", stride_of(1),
                          cudaSharedMemBankSizeEightByte);
    pattern_after_setting(ladder, "column_4_bytes", "a column of tile[32][32], banks of 4 bytes",
                          stride_of(32), cudaSharedMemBankSizeFourByte);
    pattern_after_setting(ladder, "column_8_bytes", "the same, 8 bytes asked for", stride_of(32),
                          cudaSharedMemBankSizeEightByte);
    return ladder.run();
}
