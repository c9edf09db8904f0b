"""The papers that mechanisms, estimators and intervals come from: one list, as data.

``docs/references.md`` is made from it, and so is the BibTeX of mechanisms and of estimators.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_FIELDS = {"article": "journal", "inproceedings": "booktitle", "book": "publisher"}


@dataclass(frozen=True)
class Reference:
    """One paper, book or data set.

    Attributes:
        kind: the type of the BibTeX entry.
        authors: as they are printed.
        title: the title.
        venue: the journal, the conference, or the publisher; empty where it is not known.
        year: of the publication; None where the source states none.
        group: the heading in the list of references.
        place: volume, number and pages, as "60(309):63-69"; each of them may be left out.
    """

    kind: str
    authors: tuple[str, ...]
    title: str
    venue: str
    year: int | None
    group: str
    place: str = ""

    def line(self) -> str:
        """The reference as a line of a list."""
        where = f"{self.venue} {self.place}".replace(" :", ", pages ").strip()
        place = ", ".join(filter(None, [where, str(self.year or "")]))
        return ". ".join(filter(None, [", ".join(self.authors), self.title, place])) + "."

    def bibtex(self, key: str) -> str:
        """The reference as a BibTeX entry."""
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            **({_FIELDS.get(self.kind, "howpublished"): self.venue} if self.venue else {}),
            **self._places(),
            **({} if self.year is None else {"year": str(self.year)}),
        }
        body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        return f"@{self.kind}{{{key},\n{body}}}"

    def _places(self) -> dict[str, str]:
        """The fields of volume, number and pages."""
        found = re.fullmatch(r"(\d*)(?:\((\w+)\))?(?::(\d+)-(\d+))?", self.place)
        assert found is not None, self.place
        volume, number, first, last = found.groups()
        pages = None if first is None else f"{first}--{last}"
        fields = {"volume": volume, "number": number, "pages": pages}
        return {name: value for name, value in fields.items() if value}


def _listed(group: str, *rows: tuple[str, str, str, str, str, int | None]) -> dict[str, Reference]:
    """References of one heading: key, kind, authors, title, venue, year."""
    return {
        key: Reference(
            kind, tuple(authors.split(", ")), title, venue, year, group, _PLACES.get(key, "")
        )
        for key, kind, authors, title, venue, year in rows
    }


# Volume, number and pages, where they could be confirmed.
_PLACES = {
    "P1": "2018(3):84-104",
    "warner1965": "60(309):63-69",
    "mangat1994": "56(1):93-95",
    "carter1979": "18(2):143-154",
    "erlingsson2014": ":1054-1067",
    "kairouz2016": ":2436-2444",
    "wang2017": ":729-745",
    "ye2018": "64(8):5662-5676",
    "acharya2019": ":1120-1129",
    "feldman2022": ":6418-6433",
    "gu2020": ":967-984",
    "deming1940": "11(4):427-444",
    "csiszar1975": "3(1):146-158",
    "james1961": "1:361-379",
    "laurent2000": "28(5):1302-1338",
    "polak1969": "3(R1):35-43",
    "fang2023": ":2208-2222",
    "fieller1954": "16(2):175-185",
    "bergsma2013": "42(3):323-328",
    "waudby2024": "52(6):2613-2640",
    "duchi2013": ":429-438",
    "wang2019": ":638-649",
    "li2020": ":621-635",
    "dwork2006": ":265-284",
    "balle2018": ":394-403",
    "canonne2020": "33:15676-15688",
    "ghosh2009": ":351-360",
    "andres2013": ":901-914",
    "mcsherry2007": ":94-103",
    "eilers1996": "11(2):89-121",
    "gelman2006": "1(3):515-534",
    "kurihara2007": ":2796-2801",
    "stein1981": "9(6):1135-1151",
    "woodruff1952": "47:635-646",
    "clopper1934": "26(4):404-413",
    "wang2007": "69(2):185-198",
    "varadhan2008": "35(2):335-353",
    "kim2011": "33(6):3261-3281",
}

_PAPER, _ARTICLE, _BOOK, _OTHER = "inproceedings", "article", "book", "misc"

PAPERS = {
    **_listed(
        "",
        (
            "P1",
            _ARTICLE,
            "T. Murakami, H. Hino, J. Sakuma",
            "Toward Distribution Estimation under Local Differential Privacy with Small Samples",
            "Proceedings on Privacy Enhancing Technologies",
            2018,
        ),
        (
            "P2",
            _PAPER,
            "T. Murakami, Y. Kawamoto",
            "Utility-Optimized Local Differential Privacy Mechanisms for Distribution Estimation",
            "USENIX Security",
            2019,
        ),
        (
            "P3",
            _PAPER,
            "Y. Ye, T. Wang, M. Zhang, D. Feng",
            "Revisiting EM-based Estimation for Locally Differentially Private Protocols",
            "NDSS",
            2025,
        ),
        (
            "P4",
            _OTHER,
            "E. ElSalamouny, C. Palamidessi",
            "Full Convergence of the Iterative Bayesian Update and Applications to Mechanisms for "
            "Privacy Protection",
            "arXiv:1909.02961",
            2019,
        ),
        (
            "P5",
            _OTHER,
            "H. Kikuchi, J. Domingo-Ferrer",
            "Estimating Joint Probability of Independently Randomized Multi-dimensional Data",
            "",
            None,
        ),
    ),
}

REFERENCES: dict[str, Reference] = {
    **PAPERS,
    **_listed(
        "Mechanisms",
        (
            "warner1965",
            _ARTICLE,
            "S. L. Warner",
            "Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias",
            "Journal of the American Statistical Association",
            1965,
        ),
        (
            "mangat1994",
            _ARTICLE,
            "N. S. Mangat",
            "An Improved Randomized Response Strategy",
            "Journal of the Royal Statistical Society B",
            1994,
        ),
        (
            "carter1979",
            _ARTICLE,
            "J. L. Carter, M. N. Wegman",
            "Universal Classes of Hash Functions",
            "Journal of Computer and System Sciences",
            1979,
        ),
        (
            "erlingsson2014",
            _PAPER,
            "U. Erlingsson, V. Pihur, A. Korolova",
            "RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal Response",
            "CCS",
            2014,
        ),
        (
            "kairouz2016",
            _PAPER,
            "P. Kairouz, K. Bonawitz, D. Ramage",
            "Discrete Distribution Estimation under Local Privacy",
            "ICML",
            2016,
        ),
        (
            "wang2017",
            _PAPER,
            "T. Wang, J. Blocki, N. Li, S. Jha",
            "Locally Differentially Private Protocols for Frequency Estimation",
            "USENIX Security",
            2017,
        ),
        (
            "ye2018",
            _ARTICLE,
            "M. Ye, A. Barg",
            "Optimal Schemes for Discrete Distribution Estimation under Locally Differential "
            "Privacy",
            "IEEE Transactions on Information Theory",
            2018,
        ),
        (
            "acharya2019",
            _PAPER,
            "J. Acharya, Z. Sun, H. Zhang",
            "Hadamard Response: Estimating Distributions Privately, Efficiently, and with Little "
            "Communication",
            "AISTATS",
            2019,
        ),
        (
            "feldman2022",
            _PAPER,
            "V. Feldman, J. Nelson, H. Nguyen, K. Talwar",
            "Private Frequency Estimation via Projective Geometry",
            "ICML",
            2022,
        ),
    ),
    **_listed(
        "Keys with values, several attributes",
        (
            "gu2020",
            _PAPER,
            "X. Gu, M. Li, Y. Cheng, L. Xiong, Y. Cao",
            "PCKV: Locally Differentially Private Correlated Key-Value Data Collection with "
            "Optimized Utility",
            "USENIX Security",
            2020,
        ),
        (
            "domingo2022",
            _ARTICLE,
            "J. Domingo-Ferrer, J. Soria-Comas",
            "Multi-Dimensional Randomized Response",
            "IEEE Transactions on Knowledge and Data Engineering",
            2022,
        ),
    ),
    **_listed(
        "Joint tables",
        (
            "deming1940",
            _ARTICLE,
            "W. E. Deming, F. F. Stephan",
            "On a Least Squares Adjustment of a Sampled Frequency Table When the Expected Marginal "
            "Totals Are Known",
            "Annals of Mathematical Statistics",
            1940,
        ),
        (
            "csiszar1975",
            _ARTICLE,
            "I. Csiszar",
            "I-Divergence Geometry of Probability Distributions and Minimization Problems",
            "Annals of Probability",
            1975,
        ),
        (
            "james1961",
            _PAPER,
            "W. James, C. Stein",
            "Estimation with Quadratic Loss",
            "Fourth Berkeley Symposium on Mathematical Statistics and Probability",
            1961,
        ),
        (
            "laurent2000",
            _ARTICLE,
            "B. Laurent, P. Massart",
            "Adaptive Estimation of a Quadratic Functional by Model Selection",
            "Annals of Statistics",
            2000,
        ),
        (
            "polak1969",
            _ARTICLE,
            "E. Polak, G. Ribiere",
            "Note sur la convergence de methodes de directions conjuguees",
            "Revue francaise d'informatique et de recherche operationnelle",
            1969,
        ),
    ),
    **_listed(
        "Estimates and intervals",
        (
            "fang2023",
            _PAPER,
            "H. Fang, L. Chen, Y. Liu, Y. Gao",
            "Locally Differentially Private Frequency Estimation Based on Convolution Framework",
            "IEEE S&P",
            2023,
        ),
        (
            "fieller1954",
            _ARTICLE,
            "E. C. Fieller",
            "Some Problems in Interval Estimation",
            "Journal of the Royal Statistical Society B",
            1954,
        ),
        (
            "bergsma2013",
            _ARTICLE,
            "W. Bergsma",
            "A Bias-Correction for Cramer's V and Tschuprow's T",
            "Journal of the Korean Statistical Society",
            2013,
        ),
        (
            "waudby2024",
            _ARTICLE,
            "I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy, A. Ramdas",
            "Time-Uniform Central Limit Theory and Asymptotic Confidence Sequences",
            "Annals of Statistics",
            2024,
        ),
    ),
    **_listed(
        "Numbers",
        (
            "duchi2013",
            _PAPER,
            "J. C. Duchi, M. I. Jordan, M. J. Wainwright",
            "Local Privacy and Statistical Minimax Rates",
            "FOCS",
            2013,
        ),
        (
            "wang2019",
            _PAPER,
            "N. Wang, X. Xiao, Y. Yang, J. Zhao, S. C. Hui, H. Shin, J. Shin, G. Yu",
            "Collecting and Analyzing Multidimensional Data with Local Differential Privacy",
            "ICDE",
            2019,
        ),
        (
            "li2020",
            _PAPER,
            "Z. Li, T. Wang, M. Lopuhaa-Zwakenberg, N. Li, B. Skoric",
            "Estimating Numerical Distributions under Local Differential Privacy",
            "SIGMOD",
            2020,
        ),
        (
            "dwork2006",
            _PAPER,
            "C. Dwork, F. McSherry, K. Nissim, A. Smith",
            "Calibrating Noise to Sensitivity in Private Data Analysis",
            "TCC",
            2006,
        ),
        (
            "balle2018",
            _PAPER,
            "B. Balle, Y.-X. Wang",
            "Improving the Gaussian Mechanism for Differential Privacy: Analytical Calibration and "
            "Optimal Denoising",
            "ICML",
            2018,
        ),
        (
            "canonne2020",
            _PAPER,
            "C. L. Canonne, G. Kamath, T. Steinke",
            "The Discrete Gaussian for Differential Privacy",
            "NeurIPS",
            2020,
        ),
    ),
    **_listed(
        "Distances",
        (
            "ghosh2009",
            _PAPER,
            "A. Ghosh, T. Roughgarden, M. Sundararajan",
            "Universally Utility-Maximizing Privacy Mechanisms",
            "STOC",
            2009,
        ),
        (
            "andres2013",
            _PAPER,
            "M. E. Andres, N. E. Bordenabe, K. Chatzikokolakis, C. Palamidessi",
            "Geo-Indistinguishability: Differential Privacy for Location-Based Systems",
            "CCS",
            2013,
        ),
        (
            "mcsherry2007",
            _PAPER,
            "F. McSherry, K. Talwar",
            "Mechanism Design via Differential Privacy",
            "FOCS",
            2007,
        ),
    ),
    **_listed(
        "Smoothing, priors and tests",
        (
            "eilers1996",
            _ARTICLE,
            "P. H. C. Eilers, B. D. Marx",
            "Flexible Smoothing with B-splines and Penalties",
            "Statistical Science",
            1996,
        ),
        (
            "gelman2006",
            _ARTICLE,
            "A. Gelman",
            "Prior Distributions for Variance Parameters in Hierarchical Models",
            "Bayesian Analysis",
            2006,
        ),
        (
            "kurihara2007",
            _PAPER,
            "K. Kurihara, M. Welling, Y. W. Teh",
            "Collapsed Variational Dirichlet Process Mixture Models",
            "IJCAI",
            2007,
        ),
        (
            "stein1981",
            _ARTICLE,
            "C. M. Stein",
            "Estimation of the Mean of a Multivariate Normal Distribution",
            "Annals of Statistics",
            1981,
        ),
        (
            "woodruff1952",
            _ARTICLE,
            "R. S. Woodruff",
            "Confidence Intervals for Medians and Other Position Measures",
            "Journal of the American Statistical Association",
            1952,
        ),
        (
            "clopper1934",
            _ARTICLE,
            "C. J. Clopper, E. S. Pearson",
            "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
            "Biometrika",
            1934,
        ),
        (
            "cramer1946",
            _BOOK,
            "H. Cramer",
            "Mathematical Methods of Statistics",
            "Princeton University Press",
            1946,
        ),
    ),
    **_listed(
        "Solvers",
        (
            "wang2007",
            _ARTICLE,
            "Y. Wang",
            "On Fast Computation of the Non-parametric Maximum Likelihood Estimate of a Mixing "
            "Distribution",
            "Journal of the Royal Statistical Society B",
            2007,
        ),
        (
            "varadhan2008",
            _ARTICLE,
            "R. Varadhan, C. Roland",
            "Simple and Globally Convergent Methods for Accelerating the Convergence of Any EM "
            "Algorithm",
            "Scandinavian Journal of Statistics",
            2008,
        ),
        (
            "kim2011",
            _ARTICLE,
            "J. Kim, H. Park",
            "Fast Nonnegative Matrix Factorization: An Active-Set-Like Method and Comparisons",
            "SIAM Journal on Scientific Computing",
            2011,
        ),
    ),
    **_listed(
        "Data",
        (
            "becker1996",
            _OTHER,
            "B. Becker, R. Kohavi",
            "Adult",
            "UCI Machine Learning Repository, CC BY 4.0",
            1996,
        ),
    ),
}

# How to cite the package itself; CITATION.cff says the same.
SOFTWARE = Reference(
    "software",
    ("The warner developers",),
    "warner: learn the distribution of sensitive answers without collecting them",
    "version 0.1.0",
    None,
    "",
)


def bibtex_of(keys: Iterable[str]) -> str:
    """The BibTeX entries of references, each once.

    >>> print(bibtex_of(["warner1965"]))
    @article{warner1965,
      author = {S. L. Warner},
      title = {{Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias}},
      journal = {Journal of the American Statistical Association},
      volume = {60},
      number = {309},
      pages = {63--69},
      year = {1965},
    }
    """
    entries = [
        key.strip() if key.lstrip().startswith("@") else _entry(key) for key in dict.fromkeys(keys)
    ]
    return "\n\n".join(entries)


def _entry(key: str) -> str:
    """The BibTeX entry of a reference; the papers of docstrings are named after their authors."""
    reference = REFERENCES[key]
    if key in PAPERS:
        author = reference.authors[0].rpartition(" ")[2].lower()
        key = f"{author}{reference.year or ''}"
    return reference.bibtex(key).replace("&", "\\&")
