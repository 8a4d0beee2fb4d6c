# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
#
# Finds LibTorch inside the `torch` package of a Python environment (CPU or CUDA build, 2.9 or newer).
#
# Input:  MODULELENS_PYTHON   the interpreter; default: the environment variable of that name, else the active virtual
#                             environment, else .venv of the source tree, else python3.
# Output: TorchFromPython_FOUND, TorchFromPython_VERSION, TorchFromPython_CUDA (version, or empty for a CPU build)
#         TorchFromPython::torch   imported target: headers (as system headers), libraries, run path
#
# TorchConfig.cmake of the wheel is not used: it asks for a CUDA toolkit as soon as the wheel was built with CUDA, and we
# compile no CUDA code. Libraries that only register themselves (libtorch_cuda) are linked even though no symbol names them.

set(_tfp_candidates "")
foreach(_tfp_root "$ENV{VIRTUAL_ENV}" "$ENV{CONDA_PREFIX}" "${CMAKE_SOURCE_DIR}/.venv")
    if(_tfp_root)
        list(APPEND _tfp_candidates "${_tfp_root}/bin/python")
    endif()
endforeach()
if(NOT MODULELENS_PYTHON)
    set(_tfp_python "$ENV{MODULELENS_PYTHON}")
    foreach(_tfp_candidate IN LISTS _tfp_candidates)
        if(NOT _tfp_python AND EXISTS "${_tfp_candidate}")
            set(_tfp_python "${_tfp_candidate}")
        endif()
    endforeach()
    if(NOT _tfp_python)
        set(_tfp_python python3)
    endif()
    if(NOT IS_ABSOLUTE "${_tfp_python}")
        find_program(_tfp_found "${_tfp_python}" NO_CACHE)
        set(_tfp_python "${_tfp_found}")
    endif()
    set(MODULELENS_PYTHON "${_tfp_python}" CACHE FILEPATH "Python interpreter whose torch package provides LibTorch" FORCE)
endif()

set(TorchFromPython_LIBRARY "")
if(MODULELENS_PYTHON)
    # torch/version.py is run alone: importing torch would take seconds.
    execute_process(
        COMMAND "${MODULELENS_PYTHON}" -c
            "import importlib.util, os, runpy; s = importlib.util.find_spec('torch'); d = os.path.dirname(s.origin); v = runpy.run_path(os.path.join(d, 'version.py')); print(d, v['__version__'], v.get('cuda') or '', sep=';')"
        OUTPUT_VARIABLE _tfp_answer ERROR_QUIET RESULT_VARIABLE _tfp_result OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(_tfp_result EQUAL 0)
        list(GET _tfp_answer 0 TorchFromPython_DIR)
        list(GET _tfp_answer 1 _tfp_full_version)
        list(GET _tfp_answer 2 TorchFromPython_CUDA)
        string(REGEX MATCH "^[0-9]+\\.[0-9]+(\\.[0-9]+)?" TorchFromPython_VERSION "${_tfp_full_version}")
        if(EXISTS "${TorchFromPython_DIR}/lib/libtorch_cpu.so" AND EXISTS "${TorchFromPython_DIR}/include/ATen/ATen.h")
            set(TorchFromPython_LIBRARY "${TorchFromPython_DIR}/lib/libtorch_cpu.so")
        endif()
    endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TorchFromPython
    REQUIRED_VARS TorchFromPython_LIBRARY
    VERSION_VAR TorchFromPython_VERSION
    REASON_FAILURE_MESSAGE "no torch >= 2.9 in the environment of '${MODULELENS_PYTHON}', set MODULELENS_PYTHON to an interpreter that has it")

if(TorchFromPython_FOUND AND NOT TARGET TorchFromPython::torch)
    set(_tfp_lib "${TorchFromPython_DIR}/lib")
    # The C++ ABI that the wheel was built with: since 2.6 always the new one, which is also the compiler's default.
    add_library(TorchFromPython::torch INTERFACE IMPORTED GLOBAL)
    target_include_directories(TorchFromPython::torch SYSTEM INTERFACE
        "${TorchFromPython_DIR}/include" "${TorchFromPython_DIR}/include/torch/csrc/api/include")
    # The wheel is a release build, and some classes of its headers have other members without NDEBUG.
    target_compile_definitions(TorchFromPython::torch INTERFACE NDEBUG)
    set(_tfp_libraries "${_tfp_lib}/libtorch_cpu.so" "${_tfp_lib}/libc10.so")
    set(_tfp_registering "${_tfp_lib}/libtorch.so")
    foreach(_tfp_name c10_cuda torch_cuda)
        if(EXISTS "${_tfp_lib}/lib${_tfp_name}.so")
            list(APPEND _tfp_registering "${_tfp_lib}/lib${_tfp_name}.so")
        endif()
    endforeach()
    target_link_libraries(TorchFromPython::torch INTERFACE
        "-Wl,--push-state,--no-as-needed" ${_tfp_registering} ${_tfp_libraries} "-Wl,--pop-state")
    # The CUDA libraries name further ones that only their own run path finds.
    target_link_options(TorchFromPython::torch INTERFACE "-Wl,--allow-shlib-undefined" "-Wl,-rpath,${_tfp_lib}")
endif()
