#!/usr/bin/env bash
# gpu.sh: the compute capability ("9.0") of each GPU that CUDA programs see here, a line each; nothing where there is
# none. The scripts and cmake/architectures.cmake both ask this way.
#
# nvidia-smi's text counts only where it ended well and every line is a capability: a broken driver prints a version in
# its place, an old nvidia-smi does not know the question, a Jetson has none. The toolkit's own query is asked then.
set -u

case ${CUDA_VISIBLE_DEVICES-all} in
    '' | -1* | NoDevFiles) exit 0 ;; # hidden from CUDA, though not from nvidia-smi
esac

complaint=''
# Beside PATH: WSL 2, and containers that mount the driver.
for smi in "$(command -v nvidia-smi)" /usr/lib/wsl/lib/nvidia-smi /usr/local/nvidia/bin/nvidia-smi; do
    [[ -n $smi && -x $smi ]] || continue
    text=$(timeout 30 "$smi" --query-gpu=compute_cap --format=csv,noheader 2>&1)
    code=$?
    text=$(tr -d ' \r' <<<"$text")
    if [[ $code == 0 && -n $text ]] && ! grep -qvE '^[0-9]+\.[0-9]$' <<<"$text"; then
        echo "$text"
        exit 0
    fi
    complaint="$smi: exit code $code: $(head -n 1 <<<"$text")"
done

query=$(dirname "$(readlink -f "$(command -v "${CUDACXX:-nvcc}" || echo /usr/local/cuda/bin/nvcc)")")/__nvcc_device_query
if [[ -x $query ]] && text=$(timeout 30 "$query" 2>/dev/null) && [[ $text =~ ^[0-9]+(,[0-9]+)*$ ]]; then
    tr ',' '\n' <<<"$text" | sed 's/\(.\)$/.\1/'
    exit 0
fi
[[ -z $complaint ]] || echo "gpu.sh: no GPU is used: $complaint" >&2
