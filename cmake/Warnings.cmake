# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
#
# Compiler warnings and sanitizers, per target.

include_guard(GLOBAL)

function(ml_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wshadow -Woverloaded-virtual -Wnon-virtual-dtor -Wpedantic)
    if(MODULELENS_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    target_compile_features(${target} PRIVATE cxx_std_20)
    ml_sanitizers(${target})
endfunction()

# Only for layers without Qt: Qt 6 containers count in qsizetype and would draw hundreds of these.
function(ml_conversion_warnings target)
    target_compile_options(${target} PRIVATE -Wconversion)
endfunction()

function(ml_sanitizers target)
    if(MODULELENS_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${MODULELENS_SANITIZE} -fno-omit-frame-pointer
            -fno-sanitize-recover=undefined)
        if(MODULELENS_SANITIZE MATCHES "undefined")
            # The vptr check needs type information that LibTorch hides.
            target_compile_options(${target} PRIVATE -fno-sanitize=vptr)
        endif()
        target_link_options(${target} PRIVATE -fsanitize=${MODULELENS_SANITIZE})
    endif()
endfunction()
