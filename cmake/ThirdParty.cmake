# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
#
# The libraries that a layer may name under THIRD_PARTY. Each is looked for when the first layer asks for it, and linked as a
# system library, so that its headers give no warnings.

include_guard(GLOBAL)

# The imported target behind a key of the layer table, found on first use.
function(ml_third_party_target out key)
    if(key STREQUAL "openssl")
        find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
        set(target OpenSSL::Crypto)
    elseif(key STREQUAL "nlohmann_json")
        find_package(nlohmann_json 3.11 REQUIRED)
        set(target nlohmann_json::nlohmann_json)
    elseif(key STREQUAL "sqlitecpp")
        find_package(SQLiteCpp REQUIRED)
        set(target SQLiteCpp)
    elseif(key STREQUAL "curl")
        find_package(CURL 7.85 REQUIRED)
        set(target CURL::libcurl)
    elseif(key STREQUAL "xxhash")
        if(NOT TARGET xxhash::xxhash)
            find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
            find_library(XXHASH_LIBRARY xxhash REQUIRED)
            add_library(xxhash::xxhash UNKNOWN IMPORTED GLOBAL)
            set_target_properties(xxhash::xxhash PROPERTIES
                IMPORTED_LOCATION ${XXHASH_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${XXHASH_INCLUDE_DIR})
        endif()
        set(target xxhash::xxhash)
    elseif(key STREQUAL "roaring")
        find_package(roaring REQUIRED)
        set(target roaring::roaring)
    elseif(key STREQUAL "qcustomplot")
        find_package(QCustomPlotQt6 REQUIRED)
        set(target QCustomPlotQt6::QCustomPlotQt6)
    elseif(key STREQUAL "torch")
        set(target TorchFromPython::torch)
    elseif(key MATCHES "^qt(core|gui|widgets|svg|test)$")
        string(SUBSTRING ${CMAKE_MATCH_1} 0 1 first)
        string(SUBSTRING ${CMAKE_MATCH_1} 1 -1 rest)
        string(TOUPPER ${first} first)
        set(target Qt6::${first}${rest})
    else()
        message(FATAL_ERROR "THIRD_PARTY ${key}: unknown key; the known ones are in cmake/ThirdParty.cmake")
    endif()
    set(${out} ${target} PARENT_SCOPE)
endfunction()

# LibTorch is the only library that may be missing: without it the worker and the engine are left out.
# Called from the root folder, since imported targets are visible from the folder that looked for them downwards.
function(ml_third_party_available out key)
    ml_third_party_target(target ${key})
    set(${out} TRUE PARENT_SCOPE)
    if(NOT TARGET ${target})
        if(NOT key STREQUAL "torch")
            message(FATAL_ERROR "THIRD_PARTY ${key}: its package does not define the target ${target}")
        endif()
        set(${out} FALSE PARENT_SCOPE)
    endif()
endfunction()

function(ml_link_third_party target key)
    ml_third_party_target(library ${key})
    target_link_libraries(${target} PRIVATE ${library})
endfunction()
