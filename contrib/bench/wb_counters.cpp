// See wb_counters.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "wb_counters.hpp"

#include <map>
#include <mpi.h>

namespace wb {

namespace {

struct variable {
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

const std::string prefix = "coll_wan_";

}  // namespace

struct counters::state {
    MPI_T_pvar_session session{};
    std::map<std::string, variable> variables;
    MPI_Comm world = MPI_COMM_WORLD;        // handles keep a pointer to it
    bool usable = false;

    void add(int index) {
        char name[256];
        int name_length = sizeof name, verbosity, var_class, bind, read_only, continuous, atomic;
        int description_length = 0, elements = 0;
        MPI_Datatype type;
        MPI_T_enum enumeration;
        if (MPI_T_pvar_get_info(index, name, &name_length, &verbosity, &var_class, &type,
                                &enumeration, nullptr, &description_length, &bind, &read_only,
                                &continuous, &atomic) != MPI_SUCCESS)
            return;
        if (std::string(name).compare(0, prefix.size(), prefix) != 0)
            return;
        variable v;
        v.type = type;
        void *object = bind == MPI_T_BIND_MPI_COMM ? &world : nullptr;
        if (MPI_T_pvar_handle_alloc(session, index, object, &v.handle, &elements) != MPI_SUCCESS ||
            elements != 1)
            return;
        if (!continuous)
            MPI_T_pvar_start(session, v.handle);
        variables[name] = v;
    }
};

counters::counters() : state_(std::make_unique<state>()) {
    int provided = 0, count = 0;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    state_->usable = MPI_T_pvar_session_create(&state_->session) == MPI_SUCCESS &&
                     MPI_T_pvar_get_num(&count) == MPI_SUCCESS;
    for (int i = 0; state_->usable && i < count; ++i)
        state_->add(i);
}

counters::~counters() {
    if (state_->usable) {
        for (auto &[name, v] : state_->variables)
            MPI_T_pvar_handle_free(state_->session, &v.handle);
        MPI_T_pvar_session_free(&state_->session);
    }
    MPI_T_finalize();
}

std::int64_t counters::read(const std::string &name) {
    const auto found = state_->variables.find(prefix + name);
    if (found == state_->variables.end())
        return -1;
    union {
        unsigned u;
        unsigned long ul;
        unsigned long long ull;
        double d;
    } value{};
    if (MPI_T_pvar_read(state_->session, found->second.handle, &value) != MPI_SUCCESS)
        return -1;
    const MPI_Datatype type = found->second.type;
    if (type == MPI_UNSIGNED)
        return value.u;
    if (type == MPI_UNSIGNED_LONG)
        return static_cast<std::int64_t>(value.ul);
    if (type == MPI_DOUBLE)
        return static_cast<std::int64_t>(value.d);
    return static_cast<std::int64_t>(value.ull);
}

}  // namespace wb
