// SPDX-License-Identifier: Apache-2.0
// Ids of access registers (ACCESS_REG) with their layouts.
#pragma once

#include "model/prm/reflect.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace cxsim::prm {

// Name, id, layout. Empty: neither the header nor our files describe it. First those that the
// drivers use, then those that only firmware tools ask for.
#define CX_PRM_REGISTERS(X)                              \
    X(QPTS, 0x4002, qpts_reg)                            \
    X(QETCR, 0x4005, qetc_reg)                           \
    X(QTCT, 0x400a, qtct_reg)                            \
    X(QPDPM, 0x4013, qpdpm_reg)                          \
    X(QCAM, 0x4019, qcam_reg)                            \
    X(DCBX_PARAM, 0x4020, dcbx_param)                    \
    X(DCBX_APP, 0x4021, )                                \
    X(FPGA_CAP, 0x4022, fpga_cap)                        \
    X(FPGA_CTRL, 0x4023, fpga_ctrl)                      \
    X(FPGA_ACCESS_REG, 0x4024, fpga_access_reg)          \
    X(CORE_DUMP, 0x402e, core_dump_reg)                  \
    X(PCAP, 0x5001, pcap_reg)                            \
    X(PMLP, 0x5002, pmlp_reg)                            \
    X(PMTU, 0x5003, pmtu_reg)                            \
    X(PTYS, 0x5004, ptys_reg)                            \
    X(PAOS, 0x5006, paos_reg)                            \
    X(PFCC, 0x5007, pfcc_reg)                            \
    X(PPCNT, 0x5008, ppcnt_reg)                          \
    X(PUDE, 0x5009, pude_reg)                            \
    X(PPTB, 0x500b, pptb_reg)                            \
    X(PBMC, 0x500c, pbmc_reg)                            \
    X(PELC, 0x500e, pelc_reg)                            \
    X(PVLC, 0x500f, pvlc_reg)                            \
    X(PMPE, 0x5010, pmpe_reg)                            \
    X(PMAOS, 0x5012, pmaos_reg)                          \
    X(PPLM, 0x5023, pplm_reg)                            \
    X(PDDR, 0x5031, pddr_reg)                            \
    X(PCMR, 0x5041, pcmr_reg)                            \
    X(PCAM, 0x507f, pcam_reg)                            \
    X(NODE_DESC, 0x6001, set_node_in)                    \
    X(HOST_ENDIANNESS, 0x7004, register_host_endianness) \
    X(MTCAP, 0x9009, mtcap_reg)                          \
    X(MTMP, 0x900a, mtmp_reg)                            \
    X(MCIA, 0x9014, mcia_reg)                            \
    X(MFRL, 0x9028, mfrl_reg)                            \
    X(MLCR, 0x902b, mlcr_reg)                            \
    X(MRTC, 0x902d, mrtc_reg)                            \
    X(MTRC_CAP, 0x9040, mtrc_cap)                        \
    X(MTRC_CONF, 0x9041, mtrc_conf)                      \
    X(MTRC_STDB, 0x9042, mtrc_stdb)                      \
    X(MTRC_CTRL, 0x9043, mtrc_ctrl)                      \
    X(MPEIN, 0x9050, mpein_reg)                          \
    X(MPCNT, 0x9051, mpcnt_reg)                          \
    X(MTPPS, 0x9053, mtpps_reg)                          \
    X(MTPPSE, 0x9054, mtppse_reg)                        \
    X(MTUTC, 0x9055, mtutc_reg)                          \
    X(MPEGC, 0x9056, mpegc_reg)                          \
    X(MPIR, 0x9059, mpir_reg)                            \
    X(MCQS, 0x9060, mcqs_reg)                            \
    X(MCQI, 0x9061, mcqi_reg)                            \
    X(MCC, 0x9062, mcc_reg)                              \
    X(MCDA, 0x9063, mcda_reg)                            \
    X(MCAM, 0x907f, mcam_reg)                            \
    X(MSECQ, 0x9155, msecq_reg)                          \
    X(MSEES, 0x9156, msees_reg)                          \
    X(MIRC, 0x9162, mirc_reg)                            \
    X(MTPTM, 0x9180, mtptm_reg)                          \
    X(MTCTR, 0x9181, mtctr_reg)                          \
    X(SBPR, 0xb001, sbpr_reg)                            \
    X(SBCM, 0xb002, sbcm_reg)                            \
    X(SBCAM, 0xb01f, sbcam_reg)                          \
    X(RESOURCE_DUMP, 0xc000, resource_dump)              \
    X(DTOR, 0xc00e, dtor_reg)                            \
    /* tools */                                          \
    X(PLIB, 0x500a, plib_reg)                            \
    X(PPLR, 0x5018, pplr_reg)                            \
    X(SLRP, 0x5026, )                                    \
    X(SLTP, 0x5027, sltp_reg)                            \
    X(SLRG, 0x5028, slrg_reg)                            \
    X(PPAOS, 0x5040, )                                   \
    X(PGUID, 0x5066, )                                   \
    X(DEBUG_CAP, 0x8400, )                               \
    X(MFPA, 0x9010, )                                    \
    X(MFBA, 0x9011, )                                    \
    X(MFBE, 0x9012, )                                    \
    X(MFMC, 0x9013, )                                    \
    X(PMDIO, 0x9017, )                                   \
    X(MJTAG, 0x901f, )                                   \
    X(MGIR, 0x9020, mgir_reg)                            \
    X(PMDIC, 0x9021, )                                   \
    X(MRSR, 0x9023, )                                    \
    X(NVDA, 0x9024, nvda_reg)                            \
    X(NVDI, 0x9025, nvdi_reg)                            \
    X(MISOC, 0x9026, )                                   \
    X(MVTS, 0x902c, )                                    \
    X(MROQ, 0x902f, )                                    \
    X(NVQC, 0x9030, nvqc_reg)                            \
    X(NVIA, 0x9033, )                                    \
    X(NVQGC, 0x9034, )                                   \
    X(NVGN, 0x9035, )                                    \
    X(MGNLE, 0x9036, )                                   \
    X(MPCIR, 0x905a, )                                   \
    X(MCDD, 0x905c, )                                    \
    X(MQIS, 0x9064, )                                    \
    X(MTCQ, 0x9065, )                                    \
    X(MKDC, 0x9066, )                                    \
    X(MGPIR, 0x9100, )                                   \
    X(MDSR, 0x9110, )                                    \
    X(MRSI, 0x912a, )                                    \
    X(MDDT, 0x9160, )                                    \
    X(MDDQ, 0x9161, )                                    \
    X(MRSV, 0x9164, )                                    \
    X(SBPM, 0xb003, )                                    \
    X(SBMM, 0xb004, )

enum class RegisterId : std::uint16_t {
#define CX_PRM_REGISTER(name, value, layout) name = value,
    CX_PRM_REGISTERS(CX_PRM_REGISTER)
#undef CX_PRM_REGISTER
};

struct RegisterInfo {
    RegisterId id;
    std::string_view name;
    std::string_view layout;  ///< empty: none known
};

std::span<const RegisterInfo> all_registers();
/// Null for an unknown id.
const RegisterInfo* find_register(std::uint16_t id);
/// By enumerator name; null if unknown.
const RegisterInfo* find_register(std::string_view name);
/// Null for an unknown id or one without a layout.
const LayoutInfo* register_layout(std::uint16_t id);
/// Empty for an unknown id.
std::string_view register_name(std::uint16_t id);

inline const LayoutInfo* register_layout(RegisterId id) {
    return register_layout(static_cast<std::uint16_t>(id));
}

}  // namespace cxsim::prm
