"""What is known of archives before they are downloaded: by which they are recognised, or refused.

Nobody who hands out the TU datasets publishes checksums of them. Other projects that download the same archives do: those in
``HASHES`` were taken from GraphDatasets.jl (simonschoelly) and from Julia code for graph kernels with a table of its own. They
agree wherever both have one; that of PROTEINS, for example, is in one alone. For the other datasets there is none, and what is
compared after the download is what the collection's page says of them: how many graphs, and how many nodes they have on
average. That tells a wrong or damaged archive, not one that someone has changed with care.

The archive of BREC is that of one commit of GraphPKU/BREC; two projects that evaluate on it publish the same hashes of it.
"""

from __future__ import annotations

from typing import NamedTuple

TU = "https://www.chrsmrrs.com/graphkerneldatasets"
"""Where the TU datasets are, each as NAME.zip."""


class Statistics(NamedTuple):
    """What is published of a dataset: its graphs, and the mean number of their nodes, in two digits behind the point."""

    graphs: int
    nodes: float


class Brec(NamedTuple):
    """An archive, the file in it that is wanted, and the SHA-256 of both."""

    url: str
    archive: str
    member: str
    content: str


BREC = Brec(
    "https://raw.githubusercontent.com/GraphPKU/BREC/d09e8c349a8bbc0882d2932f7b37b2726f576ce9/BREC_data_all.zip",
    "3a2c8e7ba068f774b1115422d1bc04749432dde9f19631e6625cba142659530f",
    "brec_v3.npy",
    "6975d172d27aedcdf4eb2c747450ede7928c111caeb2689fbc67e6b62fbd5562",
)

HASHES = {
    "AIDS": "ef65a8095846588ffd6e17f95c1968a247d8ada7295a61209c401bda23d19ab9",
    "BZR": "584cb76f63cf5d0459cabfa254603b4e89823de0c03c96d60ab338f2d71a8b55",
    "BZR_MD": "f2ae267e19de998358bddeb20517768380ffb0594c594becbbd11aed538014d6",
    "COIL-DEL": "4dbaf79fc1d1b6fc90911b15faa086af0b5f2ce4600ecd93403af95a34e6e3e8",
    "COIL-RAG": "47f8be52a845c414299a4c9e6346acc074c5438fc12fe90b7d8da5c4613f667f",
    "COLLAB": "cb5b772bc4f3a4690d0601378a3fc993b092aeafd63e2b0f2330137dda1cdcc6",
    "COX2": "aad0f932851a9ee308b3b65bb23d9eb94d4072de9593e988090ae837fa17c430",
    "COX2_MD": "c3a2849b0a6131dbc1a0f7213421e58c0ba2314db5dfe6787c0792674f631d9f",
    "DBLP_v1": "67d8a383e8920e9f9e6d8afd55df4104619252f2d08772ee08ad8a76e57b547a",
    "DD": "d033d7aeb1a48c4b2b47cf0390e7fc9671de70d98c8df5b11e458d2ec5515cd2",
    "ENZYMES": "13d832eb6ffa084192daf6e5750250028a18437ee692c38d29a10cd60e18aaf4",
    "Fingerprint": "6c53fc4e71a26b192681375b7a860afd49a24367cb1a15bda6b57067c467154d",
    "github_stargazers": "9a2828ff7aca2ed9ff745edb3076e31b97b747f1e8f60ef193a3a5e8163f4680",
    "IMDB-BINARY": "b291ec8b26d85c70faa2ba0a2433e1f407ed2ef5d0fc072d36b9a95e49a1bb27",
    "IMDB-MULTI": "a4a302149ebf4c76fa1f0fb108baff89fcbf9d35de306b18f27a8419b9a1a690",
    "MUTAG": "c419bdc853c367d2d83da4973c45100954ae15e10f5ae2cddde6ca431f8207f6",
    "Mutagenicity": "6230f94ba246b76834fb51ffa138370477b7bf8a784ade92c5e0586780d2ae0e",
    "NCI1": "10e1458f3bd9224f14e6d7627e74dcfd13e48d376d73935e7bd2900590ef1d82",
    "NCI109": "96e521a294e3e9c088540e9e9caccf55e4ca6e97cf468d68445814467956abaf",
    "PROTEINS": "2da8de15284b88edabca2888ce5444d62f364ed41159260977088c4e53d4d848",
    "PROTEINS_full": "3b7782403ce98754df3330a67e9b2aff32e69520aa1245bf515c48cc0119c562",
    "PTC_FM": "a06c80761db8ffd739a171f0d90cfa1f4dc965e1ea716ee5a25cc6cf5f4ae682",
    "PTC_FR": "c4b0083af725aaff27b41228591294922968bd5509179d24c6ea4d3996ed6072",
    "PTC_MM": "3846d6697330a446d46a1274b8708fcc153acdbcf59f649871bc0844bb012e4f",
    "PTC_MR": "5699a6d9f1bc5b3d71495f09ef50de53fa3e6bb24ead1150da678500229f5237",
    "reddit_threads": "b13c8a3984774bfd1a1e03f399939cea14cb94bc99afdeb6a3c5f1775bff9325",
    "REDDIT-BINARY": "982dc64ddade42a6365ba9c93f5080d0b9d315df0df492b57fd9fbb7e40dbe16",
    "REDDIT-MULTI-12K": "dc133043edae3df088a4bfbd09595f105c0a6e2df533662b6ddc7d3268b5b49b",
    "REDDIT-MULTI-5K": "68587783c33d54dd6107a1fc101594fd2b9d1af4e99cafe733636f383ae0c8ee",
    "SYNTHETIC": "3c0344e0cd6518d8b3f52bf45d152b1a9a007a523f5e91fc2bda929cc353c84d",
    "SYNTHETICnew": "07e27d6ff1c25d036df5bf3593b1bf4676f51e656eb982e903dea4718634ed5e",
    "Synthie": "c5bada5ffe42b4a901d50e75f10c3f969fb962f94acaab0265f46097496154d5",
    "TRIANGLES": "d14094eecf75fd60cf08b9d18d33a7e8c7657ff07e554956f0230fba9bf63b60",
    "twitch_egos": "b691bae434805f69c730c632e39ecde515c53fadfe1a9486741438bae9aa3160",
}
"""SHA-256 of archives of TU datasets."""

STATISTICS = {
    "DHFR_MD": Statistics(393, 23.87),
    "ER_MD": Statistics(446, 21.33),
    "FRANKENSTEIN": Statistics(4337, 16.90),
    "MCF-7": Statistics(27770, 26.39),
    "MCF-7H": Statistics(27770, 47.30),
    "MOLT-4": Statistics(39765, 26.09),
    "MOLT-4H": Statistics(39765, 46.70),
    "NCI-H23": Statistics(40353, 26.07),
    "NCI-H23H": Statistics(40353, 46.67),
    "OVCAR-8": Statistics(40516, 26.07),
    "OVCAR-8H": Statistics(40516, 46.67),
    "P388": Statistics(41472, 22.11),
    "P388H": Statistics(41472, 40.44),
    "PC-3": Statistics(27509, 26.35),
    "PC-3H": Statistics(27509, 47.19),
    "SF-295": Statistics(40271, 26.06),
    "SF-295H": Statistics(40271, 46.65),
    "SN12C": Statistics(40004, 26.08),
    "SN12CH": Statistics(40004, 46.69),
    "SW-620": Statistics(40532, 26.05),
    "SW-620H": Statistics(40532, 46.62),
    "Tox21_AhR_training": Statistics(8169, 18.09),
    "Tox21_AhR_testing": Statistics(272, 22.13),
    "Tox21_AhR_evaluation": Statistics(607, 17.64),
    "Tox21_AR_training": Statistics(9362, 18.39),
    "Tox21_AR_testing": Statistics(292, 22.35),
    "Tox21_AR_evaluation": Statistics(585, 17.99),
    "Tox21_AR-LBD_training": Statistics(8599, 17.77),
    "Tox21_AR-LBD_testing": Statistics(253, 21.85),
    "Tox21_AR-LBD_evaluation": Statistics(580, 17.09),
    "Tox21_ARE_training": Statistics(7167, 16.28),
    "Tox21_ARE_testing": Statistics(234, 21.99),
    "Tox21_ARE_evaluation": Statistics(552, 17.01),
    "Tox21_aromatase_training": Statistics(7226, 17.50),
    "Tox21_aromatase_testing": Statistics(214, 21.65),
    "Tox21_aromatase_evaluation": Statistics(528, 16.74),
    "Tox21_ATAD5_training": Statistics(9091, 17.89),
    "Tox21_ATAD5_testing": Statistics(272, 21.99),
    "Tox21_ATAD5_evaluation": Statistics(619, 17.68),
    "Tox21_ER_training": Statistics(7697, 17.58),
    "Tox21_ER_testing": Statistics(265, 22.16),
    "Tox21_ER_evaluation": Statistics(515, 17.66),
    "Tox21_ER-LBD_training": Statistics(8753, 18.06),
    "Tox21_ER-LBD_testing": Statistics(287, 22.28),
    "Tox21_ER-LBD_evaluation": Statistics(599, 17.75),
    "Tox21_HSE_training": Statistics(8150, 16.72),
    "Tox21_HSE_testing": Statistics(267, 22.07),
    "Tox21_HSE_evaluation": Statistics(607, 17.61),
    "Tox21_MMP_training": Statistics(7320, 17.49),
    "Tox21_MMP_testing": Statistics(238, 21.68),
    "Tox21_MMP_evaluation": Statistics(541, 16.67),
    "Tox21_p53_training": Statistics(8634, 17.79),
    "Tox21_p53_testing": Statistics(269, 22.14),
    "Tox21_p53_evaluation": Statistics(613, 17.34),
    "Tox21_PPAR-gamma_training": Statistics(8184, 17.23),
    "Tox21_PPAR-gamma_testing": Statistics(267, 22.04),
    "Tox21_PPAR-gamma_evaluation": Statistics(602, 17.38),
    "UACC257": Statistics(39988, 26.09),
    "UACC257H": Statistics(39988, 46.68),
    "Yeast": Statistics(79601, 21.54),
    "YeastH": Statistics(79601, 39.44),
    "KKI": Statistics(83, 26.96),
    "OHSU": Statistics(79, 82.01),
    "Peking_1": Statistics(85, 39.31),
    "Cuneiform": Statistics(267, 21.27),
    "FIRSTMM_DB": Statistics(41, 1377.27),
    "Letter-high": Statistics(2250, 4.67),
    "Letter-low": Statistics(2250, 4.68),
    "Letter-med": Statistics(2250, 4.67),
    "MSRC_9": Statistics(221, 40.58),
    "MSRC_21": Statistics(563, 77.52),
    "MSRC_21C": Statistics(209, 40.28),
    "deezer_ego_nets": Statistics(9629, 23.49),
}
"""Of TU datasets whose archives have no known hash."""


def known_dataset(name: str) -> str | None:
    """The name of a dataset that can be downloaded, as the TU collection writes it, whatever the capitals.

    >>> known_dataset("imdb-binary"), known_dataset("NOPE")
    ('IMDB-BINARY', None)
    """
    names = (*HASHES, *STATISTICS)
    return next((known for known in names if known.lower() == name.lower()), None)
