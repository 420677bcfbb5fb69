// SPDX-License-Identifier: Apache-2.0
// SystemC wants to own main(): it calls sc_main, which runs the Catch session.
#include <catch2/catch_session.hpp>
#include <cstdlib>

#include <systemc>

int main(int argc, char** argv) {
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);  // 700 banners hide what failed
    return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int argc, char** argv) {
    // A second report of "stopped by user" and deprecation notes would hide test output.
    sc_core::sc_report_handler::set_actions("/IEEE_Std_1666/deprecated", sc_core::SC_DO_NOTHING);
    return Catch::Session().run(argc, argv);
}
