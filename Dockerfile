# The toolkit and what the suite needs; no GPU is needed to try it:
#   docker build -t cuda-ladder . && docker run --rm -it cuda-ladder scripts/run_demo.sh transpose/padded.cu
# With a GPU: docker run --rm -it --gpus all cuda-ladder scripts/run_all.sh --quick
FROM nvidia/cuda:13.0.1-devel-ubuntu24.04
RUN apt-get update -q && apt-get install -y -q --no-install-recommends \
        cmake g++ git libcli11-dev libfmt-dev libgtest-dev ninja-build nlohmann-json3-dev python3 python3-matplotlib \
    && rm -rf /var/lib/apt/lists/*
COPY . /cuda-ladder
WORKDIR /cuda-ladder
CMD ["bash"]
