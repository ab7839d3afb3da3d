// SPDX-License-Identifier: Apache-2.0
//
// Declarations of the buffer protocol for the limited API before CPython 3.11,
// which lacks them. CPython 3.10 exports the same functions with the same
// struct, so one extension serves both.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_BUFFER_PROTOCOL_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_BUFFER_PROTOCOL_H_

#include <Python.h>

#if defined(Py_LIMITED_API) && Py_LIMITED_API < 0x030B0000

extern "C" {

typedef struct {
  void* buf;
  PyObject* obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
} Py_buffer;

int PyObject_CheckBuffer(PyObject* object);
int PyObject_GetBuffer(PyObject* object, Py_buffer* view, int flags);
int PyBuffer_FillInfo(Py_buffer* view, PyObject* object, void* data,
                      Py_ssize_t size, int readonly, int flags);
void PyBuffer_Release(Py_buffer* view);

}  // extern "C"

#define PyBUF_SIMPLE 0
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define Py_bf_getbuffer 1
#define Py_bf_releasebuffer 2

#endif

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_BUFFER_PROTOCOL_H_
