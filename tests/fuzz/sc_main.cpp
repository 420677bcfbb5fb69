// SPDX-License-Identifier: Apache-2.0
// SystemC's library wants an sc_main; libFuzzer has the main, so that it is never called.
extern "C" int sc_main(int, char**);
extern "C" int sc_main(int, char**) {
    return 1;
}
