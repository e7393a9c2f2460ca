package main

import "github.com/spf13/cobra"

func generateTestCommand(a *app) *cobra.Command {
	f, how := &generateFlags{}, &runFlags{}
	c := &cobra.Command{
		Use:   "test [MODEL…]",
		Short: "Write a pytest file for each model, and one conftest.py",
		Long: `Generate test writes test_hf_TYPE.py for each model and one conftest.py beside them. A file holds its model's tiny
configuration and inputs as plain values and asks, on each platform that it knows: does it load there, are its outputs
what they should be, do they agree with the CPU in fp32, does a batch agree with single samples, does it survive saving,
does a step of an optimiser work, is a wrong input refused, is memory freed. It needs pytest, torch and transformers;
on openvino, qnn and the web platforms it asks assay for what runs there, and skips where that is missing.

Files that nobody edited are brought up to date; edited ones are kept unless --force is given.

With --run-tests the files are run, and their outcome is compared with the stored results of their models ("assay matrix"):
a test that passes where the stored result fails, or the other way round, is listed.

Exit status: 0 done; 1 the program failed; 2 wrong usage; 3 some file was edited and kept, with --check, differs, or,
with --run-tests, fails.`,
		Example: `  assay generate test bert --out tests
  assay generate test --key --platform cpu,cuda --out tests
  assay generate test --missing --priority high --out tests
  assay generate test bert vit --run-tests --device cpu --out tests
  assay generate test --all --check --out tests`,
		RunE: func(c *cobra.Command, args []string) error {
			f.Usual = !c.Flags().Changed("platform")
			return a.generate(c.Context(), f, how, args)
		},
	}
	f.add(c, "tests")
	how.add(c)
	return c
}
