# SPDX-License-Identifier: Apache-2.0
"""Finds out what each parameter of a function is for: C's types say it only in part.

``parameters`` returns one list ``[name, mode, type, other parameter]`` for each:

    value    a number, an enumeration, a handle or a struct by value
    text     a zero-terminated text               pointer  an address, or a buffer
    struct   a pointer to a struct that is read   handle   a pointer to a handle that is read
    array    elements that are read; `other` counts them
    params   the arguments of a kernel            values   the values of options
    out      a pointer to what is written         inout    the same, and read before
    outs     elements that are written; `other`, a number, counts them
    query    the same; `count` is a pointer to their number, which None asks for
    view     a pointer to the library's own elements is written; `other` counts them
    chars    a text is written; `other` is the buffer's size
    attribute, attributes       what is written has the type that belongs to the value of `other`
    setting  what is read has the type that belongs to the value of `other`
    supported  the architectures of NVRTC; another function tells their number
    size     a pointer to the size of `other`, and no parameter in Python
"""

import re

# Names that are Python's, in the bindings.
_RENAMED = {"from": "from_", "type": "typename", "input": "input_", "bytes": "numbytes",
            "len": "length", "format": "pformat"}  # fmt: skip

# A struct behind a pointer to non-constant T is read if its name is one of these, and the function
# is not there to get it.
_READ_STRUCT = re.compile(r"(Params|Args|args|List|Array|Desc|opList|Locs|attrs)$")

# A number with such a name counts the elements of the arrays before it.
_COUNT = re.compile(r"^(num|count|nb)(?!(Mipmap)?Levels)")


def _query(count, *arrays):
    return {count: "count", **{array: f"query:{count}" for array in arrays}}


_READ_FRAME = {"conn": "handle", "pCudaResource": "handle", "pStream": "handle"}

# Corrections of the rules, by function and parameter, in the runtime's names where they differ
# from the driver's by their prefix alone ("GraphAddNode" is of both).
_EXCEPTIONS = {
    # Texts that are written into the caller's buffer, whose size is a number.
    "DeviceGetName": {"name": "chars:length"},
    "DeviceGetPCIBusId": {"pciBusId": "chars:length"},
    "DeviceGetLuid": {"luid": "chars:8"},
    # The caller's buffer, without a size: its address or the bytes themselves.
    "nvrtcGetPTX": {"ptx": "pointer"},
    "nvrtcGetCUBIN": {"cubin": "pointer"},
    "nvrtcGetLTOIR": {"LTOIR": "pointer"},
    "nvrtcGetOptiXIR": {"optixir": "pointer"},
    "nvrtcGetProgramLog": {"log": "pointer"},
    "nvrtcDestroyProgram": {"prog": "handle"},
    # Arrays that come first, as outputs do, but are read.
    "MemcpyBatchAsync": {"dsts": "array:count", "srcs": "array:count", "sizes": "array:count",
                         "attrs": "array:numAttrs", "attrsIdxs": "array:numAttrs"},
    "MemPrefetchBatchAsync": {"dptrs": "array:count", "sizes": "array:count",
                              "prefetchLocs": "array:numPrefetchLocs",
                              "prefetchLocIdxs": "array:numPrefetchLocs"},
    "MemDiscardBatchAsync": {"dptrs": "array:count", "sizes": "array:count"},
    "MemDiscardAndPrefetchBatchAsync": {"dptrs": "array:count", "sizes": "array:count",
                                        "prefetchLocs": "array:numPrefetchLocs",
                                        "prefetchLocIdxs": "array:numPrefetchLocs"},
    "MemBatchDecompressAsync": {"paramsArray": "struct", "errorIndex": "out"},
    "GraphicsMapResources": {"resources": "handle"},
    "GraphicsUnmapResources": {"resources": "handle"},
    "StreamUpdateCaptureDependencies": {"dependencies": "array:numDependencies"},
    "DevResourceGenerateDesc": {"resources": "array:nbResources"},
    "LaunchCooperativeKernelMultiDevice": {"launchParamsList": "array:numDevices"},
    # Read and written.
    "ThreadExchangeStreamCaptureMode": {"mode": "inout"},
    "LogsDumpToFile": {"iterator": "inout"},
    "LogsDumpToMemory": {"iterator": "inout", "size": "inout", "buffer": "pointer"},
    "TensorMapReplaceAddress": {"tensorMap": "struct"},
    "DevSmResourceSplitByCount": {"result": "query:nbGroups", "nbGroups": "count",
                                  "input": "struct"},
    # Each attribute has a type of its own.
    "PointerGetAttribute": {"data": "attribute:attribute"},
    "PointerSetAttribute": {"value": "setting:attribute"},
    "PointerGetAttributes": {"attributes": "array:numAttributes",
                             "data": "attributes:attributes"},
    "MemRangeGetAttribute": {"data": "attribute:attribute"},
    "MemRangeGetAttributes": {"data": "attributes:attributes", "dataSizes": "array:numAttributes",
                              "attributes": "array:numAttributes"},
    "MemPoolGetAttribute": {"value": "attribute:attr"},
    "MemPoolSetAttribute": {"value": "setting:attr"},
    "DeviceGetGraphMemAttribute": {"value": "attribute:attr"},
    "DeviceSetGraphMemAttribute": {"value": "setting:attr"},
    "CoredumpGetAttribute": {"value": "attribute:attrib", "size": "size:value"},
    "CoredumpGetAttributeGlobal": {"value": "attribute:attrib", "size": "size:value"},
    "CoredumpSetAttribute": {"value": "setting:attrib", "size": "size:value"},
    "CoredumpSetAttributeGlobal": {"value": "setting:attrib", "size": "size:value"},
    "MemPoolExportToShareableHandle": {"handle_out": "attribute:handleType",
                                       "shareableHandle": "attribute:handleType"},
    "MemExportToShareableHandle": {"shareableHandle": "attribute:handleType"},
    "MemGetHandleForAddressRange": {"handle": "attribute:handleType"},
    # Options with values.
    "ModuleLoadDataEx": {"options": "array:numOptions", "optionValues": "values:options"},
    "LinkCreate": {"options": "array:numOptions", "optionValues": "values:options"},
    "LinkAddData": {"options": "array:numOptions", "optionValues": "values:options"},
    "LinkAddFile": {"options": "array:numOptions", "optionValues": "values:options"},
    "LibraryLoadData": {"jitOptions": "array:numJitOptions",
                        "jitOptionsValues": "values:jitOptions",
                        "libraryOptions": "array:numLibraryOptions",
                        "libraryOptionValues": "values:libraryOptions"},
    "LibraryLoadFromFile": {"jitOptions": "array:numJitOptions",
                            "jitOptionsValues": "values:jitOptions",
                            "libraryOptions": "array:numLibraryOptions",
                            "libraryOptionValues": "values:libraryOptions"},
    # Elements of the library's own.
    "StreamGetCaptureInfo": {"dependencies_out": "view:numDependencies_out",
                             "edgeData_out": "view:numDependencies_out"},
    # Arrays whose counts have other names, or none.
    "DeviceGetHostAtomicCapabilities": {"capabilities": "outs:count"},
    "DeviceGetP2PAtomicCapabilities": {"capabilities": "outs:count"},
    "TensorMapEncodeTiled": {"globalDim": "array:tensorRank", "globalStrides": "array:",
                             "boxDim": "array:tensorRank", "elementStrides": "array:tensorRank"},
    "TensorMapEncodeIm2col": {"globalDim": "array:tensorRank", "globalStrides": "array:",
                              "pixelBoxLowerCorner": "array:", "pixelBoxUpperCorner": "array:",
                              "elementStrides": "array:tensorRank"},
    "TensorMapEncodeIm2colWide": {"globalDim": "array:tensorRank", "globalStrides": "array:",
                                  "elementStrides": "array:tensorRank"},
    "nvrtcCompileProgram": {"options": "array:numOptions"},
    "nvrtcCreateProgram": {"headers": "array:numHeaders", "includeNames": "array:numHeaders"},
    "nvrtcGetSupportedArchs": {"supportedArchs": "supported"},
    "LaunchKernelExC": {"args": "params"},
    "LaunchKernel": {"args": "params"},
    "LaunchCooperativeKernel": {"args": "params"},
    "SignalExternalSemaphoresAsync": {"extSemArray": "array:numExtSems",
                                      "paramsArray": "array:numExtSems"},
    "WaitExternalSemaphoresAsync": {"extSemArray": "array:numExtSems",
                                    "paramsArray": "array:numExtSems"},
    # Elements, and a pointer to their number.
    "GraphGetNodes": _query("numNodes", "nodes"),
    "GraphGetRootNodes": _query("numRootNodes", "rootNodes"),
    "cudaGraphGetRootNodes": _query("pNumRootNodes", "pRootNodes"),
    "GraphGetEdges": _query("numEdges", "from", "to", "edgeData"),
    "GraphNodeGetDependencies": _query("numDependencies", "dependencies", "edgeData"),
    "cudaGraphNodeGetDependencies": _query("pNumDependencies", "pDependencies", "edgeData"),
    "GraphNodeGetDependentNodes": _query("numDependentNodes", "dependentNodes", "edgeData"),
    "cudaGraphNodeGetDependentNodes": _query("pNumDependentNodes", "pDependentNodes", "edgeData"),
    # Structs that are read though the function gets another one.
    "GraphInstantiateWithParams": {"instantiateParams": "struct"},
    "MemPoolGetAccess": {"location": "struct"},
    "MemGetDefaultMemPool": {"location": "struct"},
    "MemGetMemPool": {"location": "struct"},
    "MemSetMemPool": {"location": "struct"},
    "MemPoolImportPointer": {"shareData": "struct", "exportData": "struct"},
    "StreamBatchMemOp": {"paramArray": "array:count"},
    "Memcpy3DBatchAsync": {"opList": "array:numOps"},
    "cudaPointerGetAttributes": {"attributes": "out"},
    "TexRefSetBorderColor": {"pBorderColor": "array:"},
    "TexRefGetBorderColor": {"pBorderColor": "outs:4"},
    "cudaSetValidDevices": {"device_arr": "array:length"},
    "cudaGraphMemFreeNodeGetParams": {"dptr_out": "address"},
    # Graphics: handles behind pointers that are read.
    "GLGetDevices": {"pCudaDevices": "outs:cudaDeviceCount"},
    "VDPAUGetDevice": {"vdpGetProcAddress": "pointer"},
    "VDPAUCtxCreate": {"vdpGetProcAddress": "pointer"},
    "cudaVDPAUSetVDPAUDevice": {"vdpGetProcAddress": "pointer"},
    "EGLStreamConsumerDisconnect": {"conn": "handle"},
    "EGLStreamConsumerAcquireFrame": _READ_FRAME,
    "EGLStreamConsumerReleaseFrame": _READ_FRAME,
    "EGLStreamProducerDisconnect": {"conn": "handle"},
    "EGLStreamProducerPresentFrame": _READ_FRAME,
    "EGLStreamProducerReturnFrame": {**_READ_FRAME, "eglframe": "struct"},
}  # fmt: skip


def parameters(function, declared):
    """[[name, mode, type, other], ...] of the parameters ``[(name, type)]``."""
    plain = re.sub(r"^(cu|cuda)(?=[A-Z])", "", function)
    exceptions = {**_EXCEPTIONS.get(plain, {}), **_EXCEPTIONS.get(function, {})}
    found = []
    for index, (name, kind) in enumerate(declared):
        mode = exceptions.get(name) or _by_rule(function, declared, index)
        mode, _, other = mode.partition(":")
        if mode not in ("value", "text", "params", "values", "pointer"):
            kind = re.sub(r"^\*k?", "", kind)
        if mode == "view":
            kind = re.sub(r"^\*k?", "", kind)
        if mode == "address":
            mode, kind = "out", "*v"
        found.append([_RENAMED.get(name, name), mode, kind, _RENAMED.get(other, other)])
    return found


def _by_rule(function, declared, index):
    name, kind = declared[index]
    if not kind.startswith("*"):
        return "value"
    if name in ("kernelParams",):
        return "params"
    if kind == "*ki1":
        return "text"
    if kind in ("*v", "*kv") or name == "extra":
        return "pointer"
    count = _count_of(declared, index)
    if kind.startswith("*k"):  # constant: read
        if kind.startswith("*kt:") and count is None:
            return "struct"
        return f"array:{count or ''}"
    if kind == "*i1":
        return "pointer"
    if kind.startswith("*t:") and _READ_STRUCT.search(name) and "Get" not in function:
        return "struct" if count is None else f"array:{count}"
    if index == 0 and count is not None and ("Enumerate" in function):
        return f"outs:{count}"
    return "out"


def _count_of(declared, index):
    """The number that counts the elements of an array, or None: the next parameter that is no
    pointer, if its name says so."""
    for name, kind in declared[index + 1 :]:
        if not kind.startswith("*"):
            return name if _COUNT.match(name) and kind in ("u4", "u8", "i4") else None
    return None
