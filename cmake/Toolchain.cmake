# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
#
# Speeds up building with what the machine has: ccache as compiler launcher, mold or lld as linker.

include_guard(GLOBAL)
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(MODULELENS_CCACHE ccache)
    if(MODULELENS_CCACHE)
        set(CMAKE_CXX_COMPILER_LAUNCHER ${MODULELENS_CCACHE})
    endif()
endif()

foreach(linker mold lld)
    check_linker_flag(CXX -fuse-ld=${linker} MODULELENS_HAS_${linker})
    if(MODULELENS_HAS_${linker})
        add_link_options(-fuse-ld=${linker})
        break()
    endif()
endforeach()
