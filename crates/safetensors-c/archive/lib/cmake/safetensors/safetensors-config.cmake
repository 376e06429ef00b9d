# Defines safetensors::safetensors: the library for SAFETENSORS_TARGET, or for this computer if that is not set.
get_filename_component(safetensors_lib ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(safetensors_target "${SAFETENSORS_TARGET}")
if(NOT safetensors_target AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(safetensors_target ${CMAKE_SYSTEM_PROCESSOR}-unknown-linux-gnu)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|i.86)$" AND CMAKE_SIZEOF_VOID_P EQUAL 4)
        set(safetensors_target i686-unknown-linux-gnu)
    endif()
endif()

set(safetensors_library ${safetensors_lib}/${safetensors_target}/libsafetensors.a)
if(NOT EXISTS ${safetensors_library})
    file(GLOB safetensors_targets RELATIVE ${safetensors_lib} ${safetensors_lib}/*-*)
    string(REPLACE ";" ", " safetensors_targets "${safetensors_targets}")
    set(safetensors_NOT_FOUND_MESSAGE
        "no library for the target \"${safetensors_target}\": set SAFETENSORS_TARGET to one of ${safetensors_targets}")
    set(safetensors_FOUND FALSE)
elseif(NOT TARGET safetensors::safetensors)
    add_library(safetensors::safetensors STATIC IMPORTED GLOBAL)
    set_target_properties(safetensors::safetensors PROPERTIES
        IMPORTED_LOCATION ${safetensors_library}
        INTERFACE_INCLUDE_DIRECTORIES ${safetensors_lib}/../include)
endif()
