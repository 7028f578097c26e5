/*
 * Stand-in: conversion between C int and Fortran INTEGER, which op.h wants.
 * Debian builds both with the same size, so it is the identity; a build with
 * another size of INTEGER needs Open MPI's own header, hence the check.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_STANDIN_FINT_2_INT_H
#define WAN_STANDIN_FINT_2_INT_H

#if defined(OMPI_SIZEOF_FORTRAN_INTEGER) && defined(SIZEOF_INT) \
    && OMPI_SIZEOF_FORTRAN_INTEGER != SIZEOF_INT && OMPI_SIZEOF_FORTRAN_INTEGER != 0
#error "Fortran INTEGER differs from C int: install Open MPI with all of its development headers"
#endif

#define OMPI_INT_2_FINT(a) (a)
#define OMPI_FINT_2_INT(a) (a)

#endif
