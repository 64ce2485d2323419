"""What holds for every test: no network, fixed seeds, full precision, one profile of examples."""

import ctypes
import gc
import os
import socket
import sys

# Tests make the data they need: real data sets that happen to lie around change nothing.
os.environ.pop("KERAS_ATTNPOOL_DATA", None)

import hypothesis  # noqa: E402
import keras  # noqa: E402
import pytest  # noqa: E402

# The contract's bare asserts say what they compared, as those of a test file do.
pytest.register_assert_rewrite("layer_contract")

BACKEND = keras.config.backend()

# The same examples on every run: a red test can be run again. `--hypothesis-profile=thorough`
# draws many, and new ones each time.
_COMMON = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile(
    "default", max_examples=15, derandomize=True, database=None, **_COMMON
)
hypothesis.settings.register_profile("thorough", max_examples=300, **_COMMON)
hypothesis.settings.load_profile("default")


# Servers of a test, notebook kernels and pytest's workers talk within this machine.
_LOCAL = {"localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "", None, socket.gethostname()}


def _within_this_machine(function, host_of):
    """The function, for addresses of this machine alone."""

    def guarded(*args, **kwargs):
        host = host_of(*args, **kwargs)
        host = host.decode() if isinstance(host, bytes) else host
        if host not in _LOCAL and not str(host).startswith("127."):
            raise RuntimeError(f"a test asks for the network: {host}")
        return function(*args, **kwargs)

    return guarded


def _host_of_address(sock, address, *rest):
    # Addresses of Unix sockets are paths.
    return address[0] if isinstance(address, tuple) else None


# RuntimeError: an OSError is what code that may go without a network expects, and would hide.
for _name in ("connect", "connect_ex"):
    setattr(
        socket.socket, _name, _within_this_machine(getattr(socket.socket, _name), _host_of_address)
    )
socket.getaddrinfo = _within_this_machine(socket.getaddrinfo, lambda host, *_, **__: host)


def _configure_backend():
    """Full float32 products on an accelerator too; one thread for each pytest worker."""
    if BACKEND == "torch":
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        if "PYTEST_XDIST_WORKER" in os.environ:
            torch.set_num_threads(1)
    elif BACKEND == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.enable_tensor_float_32_execution(False)
    elif BACKEND == "jax":
        import jax

        jax.config.update("jax_default_matmul_precision", "highest")


_configure_backend()


# What Keras says where a backend predicts alone, or cannot show a mask.
_REFUSALS = {
    "numpy": ("not implemented for NumPy backend", "has no attribute '_keras_mask'"),
    "openvino": ("is not supported with openvino backend",),
}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """What this backend or environment cannot do is skipped, by what the error says.

    Training on NumPy and OpenVINO; under `make test-nightly` what needs KerasHub, which asks for a
    released Keras.
    """
    report = (yield).get_result()
    if report.failed and any(
        said in str(call.excinfo.value) for said in _REFUSALS.get(BACKEND, ())
    ):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"{BACKEND} predicts alone")
    if report.failed and os.environ.get("KERAS_ATTNPOOL_WITHOUT_KERASHUB"):
        said = str(call.excinfo.value)
        if "keras_hub" in said or "pip install keras_attnpool[nlp]" in said:
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, "KerasHub cannot be had")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """PyTorch traces a layer for seconds: of its forms the first is captured, the others slowly."""
    seen = set()
    for item in items if BACKEND == "torch" else ():
        if getattr(item, "originalname", "") == "test_compiled_is_eager":
            if item.path in seen:
                item.add_marker(pytest.mark.slow)
            seen.add(item.path)


def pytest_collection_finish(session):
    """What is imported and collected stays: Python need not look through it again and again.

    Compilers make so many small objects that this takes an eighth of their time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_report_header():
    """The backend under test, in the first lines of the output."""
    return f"keras {keras.__version__} on {BACKEND}"


def _too_many_mappings():
    """Whether this process nears Linux's limit of 65,530 mappings.

    Each function that JAX compiles on a CPU takes some and keeps them; at the limit LLVM fails, and
    the process with it.
    """
    try:
        with open("/proc/self/maps", "rb") as file:
            return file.read().count(b"\n") > 20_000
    except OSError:
        return False


@pytest.fixture(autouse=True, scope="module")
def _memory_given_back():
    """What the tests of a file freed goes back to the system: glibc would keep gigabytes of it."""
    yield
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


@pytest.fixture(autouse=BACKEND == "jax")
def _compiled_functions_dropped():
    """JAX's compiled functions go once they are many; before that, tests share every fifth."""
    yield
    if _too_many_mappings():
        import jax

        jax.clear_caches()


@pytest.fixture(autouse=True)
def _fixed_seeds():
    """Every test starts from the same random state and leaves no names behind."""
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)
