/*
 * The port of a run where another thread completes its requests, as Open MPI does that (ompi_request_complete): it calls
 * back, and only then sets the request complete.  Each message completes once, and no request is freed before, however the two meet.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan_port_pml.c"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

enum { REQUESTS = 8 };

static ompi_request_t requests[REQUESTS];
static int begun, completed[REQUESTS], freed;

/* The core: what it is told. */
void wan_run_complete(wan_run_t *run, uint32_t token, int error)
{
    (void) run;
    (void) error;
    __atomic_add_fetch(&completed[token], 1, __ATOMIC_RELEASE);
}

void wan_run_abandon(wan_run_t *run)
{
    (void) run;
}

static int request_free(ompi_request_t **request)
{
    assert_true(REQUEST_COMPLETED == __atomic_load_n(&(*request)->req_complete, __ATOMIC_ACQUIRE));
    *request = MPI_REQUEST_NULL;
    ++freed;
    return OMPI_SUCCESS;
}

static int irecv(void *buffer, size_t count, ompi_datatype_t *datatype, int from, int tag, ompi_communicator_t *comm,
                 ompi_request_t **request)
{
    (void) buffer, (void) count, (void) datatype, (void) from, (void) tag, (void) comm;
    *request = &requests[begun++];
    OMPI_REQUEST_INIT(*request, false);
    (*request)->req_free = request_free;
    (*request)->req_status.MPI_ERROR = MPI_SUCCESS;
    return OMPI_SUCCESS;
}

static void port_open(mca_coll_wan_port_t *port, int posts)
{
    char byte[1];

    mca_pml.pml_irecv = irecv;
    begun = freed = 0;
    memset(completed, 0, sizeof(completed));
    mca_coll_wan_port_construct(port, NULL, NULL, NULL);
    for (int i = 0; i < posts; ++i) {
        assert_int_equal(mca_coll_wan_port_pml.post_recv(port, byte, 1, 0, 0, (uint32_t) i), WAN_OK);
    }
}

/* What another thread does with all of them, and how long it is away in between. */
static void *complete_all(void *away_us)
{
    for (int i = 0; i < begun; ++i) {
        ompi_request_complete_fn_t call = requests[i].req_complete_cb;

        requests[i].req_complete_cb = NULL;
        assert_int_equal(call(&requests[i]), 0);
        usleep(*(const unsigned *) away_us);
        __atomic_store_n(&requests[i].req_complete, REQUEST_COMPLETED, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Its owner meets a request whose callback was called, and which is not complete yet. */
static void waits_for_the_other_thread(void **state)
{
    unsigned away_us = 20000;
    mca_coll_wan_port_t port;
    pthread_t other;

    (void) state;
    port_open(&port, REQUESTS);
    assert_int_equal(pthread_create(&other, NULL, complete_all, &away_us), 0);
    alarm(30);      /* it waits for ever, or not at all */
    while (!mca_coll_wan_port_reap(&port)) {
        usleep(100);
    }
    alarm(0);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(freed, REQUESTS);
    for (int i = 0; i < REQUESTS; ++i) {
        assert_int_equal(completed[i], 1);
    }
    mca_coll_wan_port_destruct(&port);
}

/* It was completed before it had a callback that the other thread saw: only a look finds that, where processes use threads. */
static void finds_what_called_nobody(void **state)
{
    mca_coll_wan_port_t port;

    (void) state;
    port_open(&port, 2);
    requests[1].req_complete = REQUEST_COMPLETED;
    opal_set_using_threads(false);
    mca_coll_wan_port_sweep(&port);
    assert_int_equal(completed[1], 0);
    opal_set_using_threads(true);
    for (int again = 0; again < 2; ++again) {
        mca_coll_wan_port_sweep(&port);
        assert_false(mca_coll_wan_port_reap(&port));
        assert_int_equal(completed[0], 0);
        assert_int_equal(completed[1], 1);
        assert_int_equal(freed, 1);
    }
    /* Both at once, a look and a call: it counts once. */
    requests[0].req_complete = REQUEST_COMPLETED;
    mca_coll_wan_port_sweep(&port);
    assert_int_equal(requests[0].req_complete_cb(&requests[0]), 0);
    assert_int_equal(completed[0], 1);
    assert_true(mca_coll_wan_port_reap(&port));
    assert_int_equal(freed, 2);
    opal_set_using_threads(false);
    mca_coll_wan_port_destruct(&port);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(waits_for_the_other_thread), cmocka_unit_test(finds_what_called_nobody) };

    return cmocka_run_group_tests_name("the port of a run", tests, NULL, NULL);
}
