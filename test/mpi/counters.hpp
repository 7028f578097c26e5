/*
 * coll/wan's counters, read through MPI_T alone.  MPI_T_init_thread() comes
 * before, MPI_T_finalize() after.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_COUNTERS_HPP
#define WAN_TEST_COUNTERS_HPP

#include <mpi.h>

#include <string>
#include <vector>

/** Some of the variables coll_wan_NAME, in this order. */
class wan_counters {
public:
    /** False where one of them is not there: the plugin was not loaded. */
    bool open(const std::vector<std::string> &names)
    {
        MPI_T_pvar_session_create(&session_);
        for (const std::string &name : names) {
            int index, count;
            MPI_T_pvar_handle handle;
            if (MPI_T_pvar_get_index(("coll_wan_" + name).c_str(), MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS
                || MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle, &count) != MPI_SUCCESS) {
                for (MPI_T_pvar_handle &found : handles_)
                    MPI_T_pvar_handle_free(session_, &found);
                handles_.clear();
                return false;
            }
            handles_.push_back(handle);
        }
        return true;
    }
    /** Before MPI_T_finalize(). */
    void close()
    {
        for (MPI_T_pvar_handle &handle : handles_)
            MPI_T_pvar_handle_free(session_, &handle);
        handles_.clear();
        MPI_T_pvar_session_free(&session_);
    }
    bool there() const { return !handles_.empty(); }
    /** The i-th one of this process; 0 where they are not there. */
    unsigned long long operator[](size_t i) const
    {
        unsigned long long value = 0;
        if (i < handles_.size())
            MPI_T_pvar_read(session_, handles_[i], &value);
        return value;
    }

private:
    MPI_T_pvar_session session_{};
    std::vector<MPI_T_pvar_handle> handles_;
};

#endif
