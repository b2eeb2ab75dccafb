"""JIRP: the smallest machine with rewards on its edges that explains all counterexamples, found by a SAT solver."""
