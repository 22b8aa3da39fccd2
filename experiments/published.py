"""The figures of the paper (Krishnamoorthy, "Learning Auditable Classifier Models"), by table.

Sets by the names of `data.py`, models by the names of `models.py`: the paper's RPTE is
`rpte_paper`.
"""

from __future__ import annotations

import pandas as pd

MODELS = ("rpte_paper", "xgboost", "lightgbm", "random_forest", "ebm", "rulefit")
SETS = (
    "lupus",
    "postoperative_patient_data",
    "appendicitis",
    "corral",
    "prnn_crabs",
    "hepatitis",
    "biomed",
    "haberman",
    "heart_c",
    "saheart",
    "wdbc",
    "eeg_seizure",
)


def _table(rows: list[list[float]], columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, index=list(SETS), columns=list(columns))


# n, p and the share of the smaller class (table 3)
ROWS = _table(
    [
        [87, 3, 0.40],
        [88, 8, 0.27],
        [106, 7, 0.20],
        [160, 6, 0.44],
        [200, 7, 0.50],
        [155, 19, 0.21],
        [209, 8, 0.36],
        [306, 3, 0.26],
        [303, 13, 0.46],
        [462, 9, 0.35],
        [569, 30, 0.37],
        [11500, 178, 0.20],
    ],
    ("n", "p", "minority"),
)
AUC = _table(  # table 4
    [
        [0.768, 0.772, 0.775, 0.754, 0.806, 0.730],
        [0.432, 0.440, 0.426, 0.333, 0.407, 0.443],
        [0.797, 0.806, 0.797, 0.818, 0.847, 0.774],
        [1.000, 1.000, 1.000, 0.998, 1.000, 1.000],
        [0.974, 0.976, 0.977, 0.967, 0.983, 0.997],
        [0.790, 0.793, 0.782, 0.868, 0.848, 0.793],
        [0.927, 0.945, 0.947, 0.961, 0.980, 0.953],
        [0.669, 0.687, 0.699, 0.708, 0.697, 0.667],
        [0.903, 0.906, 0.904, 0.911, 0.915, 0.898],
        [0.728, 0.748, 0.734, 0.750, 0.767, 0.743],
        [0.987, 0.993, 0.993, 0.990, 0.996, 0.991],
        [0.990, 0.995, 0.996, 0.993, 0.991, 0.987],
    ],
    MODELS,
)
WILCOXON = {  # table 5: W, p, Holm's p, median difference, record
    "xgboost": (0, 0.001, 0.005, -0.006, "0-1-11"),
    "lightgbm": (16, 0.148, 0.442, -0.004, "3-1-8"),
    "random_forest": (23, 0.233, 0.467, -0.006, "4-0-8"),
    "ebm": (5, 0.010, 0.039, -0.020, "1-1-10"),
    "rulefit": (28, 0.700, 0.700, -0.001, "5-1-6"),
}
MIU = _table(  # table 6
    [
        [10, 760, 744, 2807, 159, 59],
        [16, 211, 73, 4587, 33, 98],
        [20, 660, 992, 1607, 657, 75],
        [18, 1600, 3074, 3455, 32, 51],
        [39, 1894, 4544, 7557, 1033, 55],
        [40, 600, 497, 3761, 368, 80],
        [35, 1624, 3530, 7206, 1110, 106],
        [36, 775, 831, 6718, 165, 71],
        [75, 1247, 1193, 6692, 370, 64],
        [91, 820, 1297, 4462, 1492, 62],
        [46, 1478, 4071, 5101, 12593, 63],
        [442, 9608, 18080, 51150, 145155, 152],
    ],
    MODELS,
)
TRADE_OFF = {  # table 7: mean and median of AUC, MIU, IIU
    "rpte_paper": ((0.830, 0.850), (72, 37), (30.0, 14.4)),
    "xgboost": ((0.838, 0.856), (1773, 1034), (279.2, 216.9)),
    "lightgbm": ((0.836, 0.851), (3244, 1245), (317.5, 180.3)),
    "random_forest": ((0.837, 0.889), (8759, 4844), (341.7, 321.5)),
    "ebm": ((0.853, 0.881), (13597, 514), (28.7, 14.5)),
    "rulefit": ((0.831, 0.845), (78, 68), (78.1, 67.5)),
}
STRICT = _table(  # table 8: AUC and MIU of the strict variant
    [
        [0.750, 11],
        [0.454, 13],
        [0.751, 16],
        [1.000, 10],
        [0.927, 40],
        [0.788, 34],
        [0.913, 29],
        [0.645, 31],
        [0.872, 54],
        [0.681, 70],
        [0.981, 46],
        [0.989, 375],
    ],
    ("auc", "miu"),
)
ABLATION = {  # table 9: AUC, MIU, IIU
    "rpte_paper": (0.830, 72, 30.0),
    "hug": (0.819, 62, 18.8),
    "frequent": (0.825, 131, 25.7),
    "original": (0.805, 127, 15.8),
    "no_reassign": (0.809, 120, 12.6),
    "xgb_hug_pairs": (0.832, 1540, 264.3),
    "xgb_hug": (0.828, 1661, 273.3),
    "xgb_frequent": (0.827, 1595, 267.5),
    "xgb_original": (0.824, None, None),
}
CONTRASTS = {  # table 10: W, p, Holm's p, record
    ("rpte_paper", "original"): (8, 0.0122, 0.0977, "11-0-1"),
    ("rpte_paper", "no_reassign"): (5, 0.0098, 0.0879, "10-1-1"),
    ("rpte_paper", "hug"): (23, 0.2334, 0.9336, "8-0-4"),
    ("hug", "frequent"): (33, 0.6772, 1.000, "7-0-5"),
    ("frequent", "xgb_frequent"): (15, 0.1230, 0.6152, "2-1-9"),
    ("hug", "xgb_hug"): (16, 0.0771, 0.4629, "2-0-10"),
    ("rpte_paper", "xgb_hug_pairs"): (11, 0.0537, 0.3760, "1-1-10"),
    ("xgb_hug_pairs", "xgb_hug"): (29, 0.7646, 1.000, "4-1-7"),
    ("xgb_hug", "xgb_frequent"): (27, 0.6377, 1.000, "6-1-5"),
}
_DETAIL = ("rpte_paper", "hug", "frequent", "original", "no_reassign")
ABLATION_AUC = _table(  # appendix C
    [
        [0.768, 0.758, 0.755, 0.767, 0.754],
        [0.432, 0.479, 0.475, 0.467, 0.388],
        [0.797, 0.780, 0.780, 0.760, 0.756],
        [1.000, 0.883, 1.000, 0.883, 1.000],
        [0.974, 0.934, 0.909, 0.904, 0.928],
        [0.790, 0.822, 0.802, 0.777, 0.808],
        [0.927, 0.928, 0.922, 0.915, 0.924],
        [0.669, 0.669, 0.682, 0.660, 0.634],
        [0.903, 0.897, 0.902, 0.874, 0.871],
        [0.728, 0.708, 0.703, 0.684, 0.669],
        [0.987, 0.984, 0.988, 0.983, 0.984],
        [0.990, 0.987, 0.987, 0.986, 0.988],
    ],
    _DETAIL,
)
ABLATION_MIU = _table(
    [
        [10, 8, 39, 36, 39],
        [16, 6, 35, 35, 39],
        [20, 16, 60, 61, 53],
        [18, 24, 13, 43, 13],
        [39, 31, 86, 85, 55],
        [40, 37, 92, 110, 116],
        [35, 29, 106, 101, 87],
        [36, 25, 59, 50, 50],
        [75, 63, 112, 97, 89],
        [91, 73, 118, 101, 99],
        [46, 43, 189, 184, 232],
        [442, 384, 661, 619, 567],
    ],
    _DETAIL,
)
CKA = {"cka_stage1": 0.554, "cka_stage3": 0.694}
SECONDS = {  # table 11: mean over sets of tuning, fit and predict
    "rpte_paper": (26.2, 1.987, 0.019),
    "xgboost": (16.0, 0.783, 0.003),
    "lightgbm": (11.7, 0.464, 0.005),
    "random_forest": (9.7, 0.727, 0.012),
    "ebm": (382.1, 24.551, 0.004),
    "rulefit": (112.2, 6.009, 0.090),
}
PATTERNS = {  # table 12: the most frequent signatures and the folds of 15 in which they are active
    "heart_c": (
        (("cp", "oldpeak", "thal"), 4),
        (("ca", "cp", "oldpeak", "sex", "slope"), 3),
        (("ca", "cp", "oldpeak", "thal", "thalach", "trestbps"), 2),
    ),
    "wdbc": (
        (("mean_concavity", "worst_area"), 3),
        (("worst_concave_pts", "worst_perimeter", "worst_texture"), 3),
        (("mean_concave_pts", "worst_perimeter"), 3),
    ),
    "saheart": (
        (("Age", "Famhist", "Ldl", "Tobacco", "Typea"), 10),
        (("Age", "Famhist", "Ldl", "Tobacco"), 8),
        (("Age", "Famhist", "Ldl"), 5),
    ),
}
STABILITY = {"heart_c": (0.74, 0.93), "saheart": (0.72, 0.82)}  # active trees, Spearman
CROSS_FOLD = {"wdbc": (733, 172), "heart_c": (32, None)}  # direct and complement pairs
SAME_FOLD = {"wdbc": 5, "heart_c": 5}  # alternatives, all within 0.01 of AUC
