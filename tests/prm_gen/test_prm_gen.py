# SPDX-License-Identifier: Apache-2.0
"""Unit test of scripts/prm_parse.py and prm_gen.py on small samples; needs no kernel header."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import prm_gen  # noqa: E402
import prm_parse  # noqa: E402

SAMPLE = """
#define COUNT 2 /* elements */
enum { MLX5_CMD_OP_QUERY_HCA_CAP = 0x100, MLX5_CMD_OP_2RST_QP, MLX5_CMD_OP_MAX };
struct mlx5_ifc_pair_bits { u8 class[0x4]; u8 reserved_at_4[0xc]; u8 b[COUNT][0x8]; };
struct mlx5_ifc_query_hca_cap_in_bits {
    u8 opcode[0x10]; u8 uid[0x10];
    union { struct mlx5_ifc_pair_bits pair; u8 raw[0x20]; };
    union { struct { u8 x[0x40]; } inner; u8 y[0x20]; } op_param;
    struct mlx5_ifc_pair_bits list[];
};
"""


def parse(*texts):
    """Parse and resolve texts as if they were files, in order."""
    parser = prm_parse.Parser()
    for number, text in enumerate(texts):
        parser.parse(text, f"file{number}")
    prm_parse.Resolver(parser)
    return parser


class Sample(unittest.TestCase):
    """What the sample means."""

    def setUp(self):
        self.parser = parse(SAMPLE)
        self.layouts = self.parser.layouts
        self.fields = {f.name: f for f in self.layouts["query_hca_cap_in"].fields}

    def test_sizes_are_sums_and_maxima(self):
        self.assertEqual(self.layouts["pair"].bits, 32)
        self.assertEqual(self.layouts["query_hca_cap_in"].bits, 32 + 32 + 64)

    def test_members_of_unnamed_unions_are_promoted(self):
        self.assertEqual(self.fields["pair"].offset, 32)
        self.assertEqual(self.fields["raw"].offset, 32)

    def test_named_groups_get_a_layout_of_their_own(self):
        self.assertEqual(self.fields["op_param"].nested, "query_hca_cap_in_op_param")
        self.assertTrue(self.layouts["query_hca_cap_in_op_param"].union)
        self.assertEqual(self.layouts["query_hca_cap_in_op_param_inner"].bits, 64)

    def test_arrays_and_tails(self):
        array = self.layouts["pair"].fields[-1]
        self.assertEqual((array.count, array.width), (2, 8))
        self.assertEqual((self.fields["list"].count, self.fields["list"].offset), (0, 128))
        self.assertTrue(self.layouts["query_hca_cap_in"].tail)
        self.assertFalse(self.layouts["pair"].tail)

    def test_reserved_members_are_marked(self):
        flags = [f.reserved for f in self.layouts["pair"].fields]
        self.assertEqual(flags, [False, True, False])

    def test_names_that_only_start_like_reserved_are_not(self):
        layout = parse("struct s { u8 reserved_lkey[0x20]; u8 reserved_2b[0x20]; };").layouts["s"]
        self.assertEqual([f.reserved for f in layout.fields], [False, True])

    def test_generated_header(self):
        text = prm_gen.layouts_h(sorted(self.layouts.values(), key=lambda x: x.name), "v")
        self.assertIn("using class_ = Field<pair, 0x0, 4>;", text)
        self.assertIn("using b = Array<pair, 0x10, 2, Bits<8>>;", text)
        self.assertIn("using list = Array<query_hca_cap_in, 0x80, 0, ::cxsim::prm::pair>;", text)
        self.assertNotIn("reserved_at", text)

    def test_opcodes_find_their_layouts_by_name_and_map(self):
        with tempfile.NamedTemporaryFile("w", suffix=".map") as file:
            file.write("2RST_QP pair - # by hand\n2RST_QP:COUNT - pair\n")
            file.flush()
            rows = prm_gen.opcode_rows(self.parser, file.name)
        self.assertIn(("QUERY_HCA_CAP", 0x100, None, "query_hca_cap_in", "-"), rows)
        self.assertIn(("2RST_QP", 0x101, None, "pair", "-"), rows)
        self.assertIn(("2RST_QP", 0x101, 2, "-", "pair"), rows)
        self.assertIn("    _2RST_QP = 0x101,", prm_gen.opcodes_h(rows))

    def test_map_lines_that_name_nothing_are_refused(self):
        for line in ("NOTHING pair -", "2RST_QP nothing -", "2RST_QP pair", "2RST_QP:X pair -"):
            with tempfile.NamedTemporaryFile("w", suffix=".map") as file:
                file.write(line)
                file.flush()
                with self.assertRaises(prm_parse.LayoutError, msg=line):
                    prm_gen.opcode_rows(self.parser, file.name)


class OwnFiles(unittest.TestCase):
    """Replacing and patching."""

    def test_a_later_file_replaces_a_structure(self):
        layouts = parse("struct s { u8 a[8]; };", "struct s { u8 b[16]; };").layouts
        self.assertEqual([(f.name, f.width) for f in layouts["s"].fields], [("b", 16)])

    def test_a_patch_splits_reserved_bits(self):
        patch = "patch struct s { u8 x[0x4] @ 0x8; };"
        layout = parse("struct mlx5_ifc_s_bits { u8 reserved_at_0[0x20]; };", patch).layouts["s"]
        self.assertEqual(
            [(f.name, f.offset, f.width) for f in layout.fields],
            [("reserved_at_0", 0, 8), ("x", 8, 4), ("reserved_at_c", 12, 20)],
        )
        self.assertEqual(layout.bits, 32)

    def test_a_patch_adds_members_to_a_union(self):
        layout = parse("union u { u8 a[0x20]; };", "patch union u { u8 b[0x10]; };").layouts["u"]
        self.assertEqual([f.name for f in layout.fields], ["a", "b"])

    def test_wrong_patches_are_refused(self):
        base = "struct s { u8 a[8]; u8 reserved_at_8[8]; }; union u { u8 a[8]; };"
        for patch in (
            "patch struct nothing { u8 x[1] @ 0; };",
            "patch struct s { u8 x[1]; };",
            "patch struct s { u8 x[1] @ 0; };",
            "patch struct s { u8 x[9] @ 8; };",
            "patch struct s { u8 a[1] @ 8; };",
            "patch union u { u8 b[9]; };",
        ):
            with self.assertRaises(prm_parse.LayoutError, msg=patch):
                parse(base, patch)


class BadInput(unittest.TestCase):
    """Nothing that is not understood is passed over; errors name file and line."""

    def test_lines_not_understood(self):
        for text in (
            "struct s { u16 a[8]; };",
            "struct s { u8 a; };",
            "struct s { u8 a[2][3][4]; };",
            "struct s { u8 a[UNKNOWN]; };",
            "struct s { u8 a[sizeof(int)]; };",
            "struct s { u8 a[8] }",
            "struct s { u8 a[8]; }",
            "struct s { u8 a[8]; } __packed;",
            "struct s { struct nothing x; };",
            "struct s { struct s x; };",
            "struct s { u8 a[8]; u8 a[8]; };",
            "struct s { u8 t[][8]; u8 a[8]; };",
            "struct s { u8 a[8]; }; struct s { u8 b[8]; };",
            "struct s { u8 a_x[8]; struct { u8 y[8]; } a; }; struct s_a { u8 z[8]; };",
            "static inline int f(void);",
            "typedef int u8;",
            "#pragma pack(1)",
            'struct s { u8 a[8]; "',
            "struct s { u8 $a[8]; };",
        ):
            with self.assertRaises(prm_parse.LayoutError, msg=text):
                parse(text)

    def test_errors_name_file_and_line(self):
        with self.assertRaisesRegex(prm_parse.LayoutError, r"^file0:3: "):
            parse("/* two\nlines */\nstruct s { int a[8]; };")

    def test_the_command_line_reports_errors_and_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder) / "bad.layout"
            bad.write_text("struct s { int a[8]; };")
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                self.assertEqual(prm_gen.main([str(bad), "--out", folder]), 1)
                self.assertEqual(prm_gen.main([folder + "/absent.h", "--out", folder]), 1)
            self.assertIn("bad.layout:1:", errors.getvalue())
            self.assertIn("absent.h", errors.getvalue())

    def test_the_command_line_writes_all_files(self):
        with tempfile.TemporaryDirectory() as folder:
            sample = pathlib.Path(folder) / "sample.h"
            sample.write_text(SAMPLE)
            arguments = [str(sample), "--out", folder, "--c-check", folder + "/check.c"]
            self.assertEqual(prm_gen.main(arguments), 0)
            for name in ("prm/layouts.h", "prm/opcodes.h", "reflect_tables.cpp", "check.c"):
                self.assertGreater((pathlib.Path(folder) / name).stat().st_size, 100, name)


if __name__ == "__main__":
    unittest.main()
