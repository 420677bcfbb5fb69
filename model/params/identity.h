// SPDX-License-Identifier: Apache-2.0
// What a card is: PCI identity, firmware, board, port (identity.ini).
#pragma once

#include "model/params/parameter.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cxsim::model {

struct Identity : ParameterGroup {
    Identity() : ParameterGroup("identity") {}

    Parameter<std::uint16_t> vendor_id{*this, "pci.vendor_id", "PCI vendor"};
    Parameter<std::uint16_t> device_id{*this, "pci.device_id", "PCI device of a physical function"};
    Parameter<std::uint16_t> vf_device_id{*this, "pci.vf_device_id",
                                          "PCI device of a virtual function"};
    Parameter<std::uint16_t> subsystem_vendor_id{*this, "pci.subsystem_vendor_id",
                                                 "PCI subsystem vendor"};
    Parameter<std::uint16_t> subsystem_id{*this, "pci.subsystem_id", "PCI subsystem"};
    Parameter<std::uint32_t> class_code{*this, "pci.class_code",
                                        "base class, subclass, interface: 24 bits"};
    Parameter<std::uint8_t> revision{*this, "pci.revision", "PCI revision"};
    Parameter<std::uint8_t> header_type{*this, "pci.header_type",
                                        "0x00 for one function, 0x80 for several"};
    Parameter<Bytes> bar0_size{*this, "pci.bar0_size", "BAR0 of a physical function"};
    Parameter<Bytes> rom_size{*this, "pci.rom_size", "expansion ROM"};
    Parameter<std::uint16_t> msix_vectors{*this, "pci.msix_vectors",
                                          "MSI-X vectors of a physical function"};
    Parameter<std::uint32_t> msix_table_offset{*this, "pci.msix_table_offset",
                                               "MSI-X table inside BAR0"};
    Parameter<std::uint32_t> msix_pba_offset{*this, "pci.msix_pba_offset",
                                             "MSI-X pending bits inside BAR0"};
    Parameter<std::uint8_t> link_generation{*this, "pci.link_generation",
                                            "highest PCIe generation: 3 is 8 GT/s"};
    Parameter<std::uint8_t> link_width{*this, "pci.link_width", "PCIe lanes"};
    Parameter<Bytes> max_payload{*this, "pci.max_payload", "largest payload of a TLP"};
    Parameter<bool> ten_bit_tag_completer{*this, "pci.ten_bit_tag_completer",
                                          "completes requests with 10-bit tags"};
    Parameter<bool> ten_bit_tag_requester{*this, "pci.ten_bit_tag_requester",
                                          "can issue requests with 10-bit tags"};
    Parameter<bool> atomic_completer{*this, "pci.atomic_completer",
                                     "completes PCIe atomic operations"};
    Parameter<std::uint16_t> total_vfs{*this, "pci.total_vfs", "TotalVFs of a physical function"};
    Parameter<std::uint16_t> vf_msix_vectors{*this, "pci.vf_msix_vectors",
                                             "MSI-X vectors of a virtual function"};
    Parameter<Bytes> vf_bar0_size{*this, "pci.vf_bar0_size", "BAR0 of a virtual function"};
    Parameter<std::uint16_t> first_vf_offset{*this, "pci.first_vf_offset",
                                             "routing id distance of the first virtual function"};
    Parameter<std::uint16_t> vf_stride{*this, "pci.vf_stride",
                                       "routing id distance between virtual functions"};

    Parameter<bool> aer{*this, "pci_capability.aer", "Advanced Error Reporting"};
    Parameter<bool> ari{*this, "pci_capability.ari", "Alternative Routing-ID Interpretation"};
    Parameter<bool> sriov{*this, "pci_capability.sriov", "Single Root I/O Virtualization"};
    Parameter<bool> secondary_pcie{*this, "pci_capability.secondary_pcie",
                                   "Secondary PCI Express, first function"};
    Parameter<bool> acs{*this, "pci_capability.acs", "Access Control Services"};
    Parameter<bool> ptm{*this, "pci_capability.ptm", "Precision Time Measurement"};
    Parameter<bool> lane_margining{*this, "pci_capability.lane_margining",
                                   "Lane Margining at the Receiver"};
    Parameter<bool> physical_layer_16gt{*this, "pci_capability.physical_layer_16gt",
                                        "Physical Layer 16.0 GT/s"};
    Parameter<bool> physical_layer_32gt{*this, "pci_capability.physical_layer_32gt",
                                        "Physical Layer 32.0 GT/s"};
    Parameter<bool> data_link_feature{*this, "pci_capability.data_link_feature",
                                      "Data Link Feature"};

    Parameter<std::uint16_t> firmware_major{*this, "firmware.major", "first part of the version"};
    Parameter<std::uint16_t> firmware_minor{*this, "firmware.minor", "second part of the version"};
    Parameter<std::uint16_t> firmware_subminor{*this, "firmware.subminor",
                                               "third part of the version"};
    Parameter<std::string> psid{*this, "firmware.psid", "parameter set id, at most 16 characters"};
    Parameter<std::uint32_t> hw_id{*this, "firmware.hw_id", "chip id that tools read"};
    Parameter<std::string> node_description{*this, "firmware.node_description",
                                            "node description, at most 64 characters"};

    Parameter<std::string> product_name{*this, "board.product_name", "VPD identifier string"};
    Parameter<std::string> serial_prefix{*this, "board.serial_prefix", "start of serial numbers"};
    Parameter<std::uint16_t> mac_prefix{*this, "board.mac_prefix",
                                        "first two bytes of the card's MAC addresses"};

    Parameter<BitsPerSecond> max_speed{*this, "port.max_speed", "fastest rate of the port"};
    Parameter<std::uint8_t> lanes{*this, "port.lanes", "lanes of the port"};

    /// 10-bit tags in both roles.
    bool ten_bit_tags() const { return ten_bit_tag_completer() && ten_bit_tag_requester(); }
    /// "16.35.9001"
    std::string firmware_version() const;

    struct VpdKeyword {
        std::string keyword;
        SourcedText value;
    };
    /// Read-only VPD in file order, without RV. Values may hold {serial}, {uuid} and {function};
    /// make_board() fills them in.
    const std::vector<VpdKeyword>& vpd_read_only() const { return vpd_read_only_; }

    /// Throws ConfigError for values that cannot be together (sizes, ranges, lengths).
    void check(const std::string& file) const;

  private:
    bool accept_unknown(const IniEntry& entry) override;
    void append_rows(std::vector<ParameterRow>& rows) const override;

    std::vector<VpdKeyword> vpd_read_only_;
};

}  // namespace cxsim::model
