// SPDX-License-Identifier: Apache-2.0
// Plain numbers that other objects refer to: UAR pages, protection domains, transport domains,
// XRC domains.
#include <vector>

#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::View;

template <class NumberField, class T, class Out>
Reply allocate(model::ObjectTable<T>& table, View<Out> out) {
    const T* object = table.create();
    if (object == nullptr) return table_full();
    out.template set<NumberField>(object->id.number);
    return accept();
}

Reply alloc_uar(CommandContext& context, ConstView<prm::alloc_uar_in>,
                View<prm::alloc_uar_out> out) {
    return allocate<prm::alloc_uar_out::uar>(context.function.resources().uars, out);
}

Reply dealloc_uar(CommandContext& context, ConstView<prm::dealloc_uar_in> in,
                  View<prm::dealloc_uar_out>) {
    return destroy_object(context.function, context.function.resources().uars,
                          in.get<prm::dealloc_uar_in::uar>());
}

Reply alloc_pd(CommandContext& context, ConstView<prm::alloc_pd_in>, View<prm::alloc_pd_out> out) {
    return allocate<prm::alloc_pd_out::pd>(context.function.resources().pds, out);
}

Reply dealloc_pd(CommandContext& context, ConstView<prm::dealloc_pd_in> in,
                 View<prm::dealloc_pd_out>) {
    return destroy_object(context.function, context.function.resources().pds,
                          in.get<prm::dealloc_pd_in::pd>(), 0, syndrome::kPdInUse);
}

Reply alloc_transport_domain(CommandContext& context,
                             ConstView<prm::alloc_transport_domain_in>,
                             View<prm::alloc_transport_domain_out> out) {
    return allocate<prm::alloc_transport_domain_out::transport_domain>(
        context.function.resources().transport_domains, out);
}

Reply dealloc_transport_domain(CommandContext& context,
                               ConstView<prm::dealloc_transport_domain_in> in,
                               View<prm::dealloc_transport_domain_out>) {
    return destroy_object(context.function, context.function.resources().transport_domains,
                          in.get<prm::dealloc_transport_domain_in::transport_domain>());
}

Reply alloc_xrcd(CommandContext& context, ConstView<prm::alloc_xrcd_in>,
                 View<prm::alloc_xrcd_out> out) {
    return allocate<prm::alloc_xrcd_out::xrcd>(context.function.resources().xrcds, out);
}

Reply dealloc_xrcd(CommandContext& context, ConstView<prm::dealloc_xrcd_in> in,
                   View<prm::dealloc_xrcd_out>) {
    return destroy_object(context.function, context.function.resources().xrcds,
                          in.get<prm::dealloc_xrcd_in::xrcd>());
}

}  // namespace

std::vector<CommandRow> protection_commands() {
    using prm::Opcode;
    return {
        command_row<&alloc_uar>(Opcode::ALLOC_UAR, Cost::create_object),
        command_row<&dealloc_uar>(Opcode::DEALLOC_UAR, Cost::destroy_object),
        command_row<&alloc_pd>(Opcode::ALLOC_PD, Cost::create_object),
        command_row<&dealloc_pd>(Opcode::DEALLOC_PD, Cost::destroy_object),
        command_row<&alloc_transport_domain>(Opcode::ALLOC_TRANSPORT_DOMAIN, Cost::create_object),
        command_row<&dealloc_transport_domain>(Opcode::DEALLOC_TRANSPORT_DOMAIN,
                                               Cost::destroy_object),
        command_row<&alloc_xrcd>(Opcode::ALLOC_XRCD, Cost::create_object),
        command_row<&dealloc_xrcd>(Opcode::DEALLOC_XRCD, Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
