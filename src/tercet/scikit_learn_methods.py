"""Methods of the texts for which scikit-learn's class or function is used: cards that name it, and nothing else.

`tercet list`, `tercet info` and `tercet.methods()` show them with the line that imports them. Their cases of the
texts are in `datasets/texts` and in `tests/feature/test_scikit_learn_methods.py`.
"""

from __future__ import annotations

from tercet.core.catalog import scikit_learn_method

# Splits of the data, and the choice of a model by them.

scikit_learn_method(
    "sklearn.model_selection.train_test_split",
    zh="留出法, 简单交叉验证",
    title="Random split into training and test rows; done twice, into training, validation and test rows.",
    task="model selection",
    model="D = S ∪ T, S ∩ T = ∅",
    strategy="learn from S, estimate the error on T; `stratify=y` keeps the shares of the classes in both",
    texts=["Li ch. 1, 1.5.2", "Machine Learning in Depth ch. 1, 1.3.2", "Studies ML ch. 2, 2.2"],
)
scikit_learn_method(
    "sklearn.model_selection.KFold",
    zh="S 折交叉验证, k 折交叉验证",
    title="S-fold cross-validation: S disjoint folds, each of which is the test set once.",
    task="model selection",
    model="D = D_1 ∪ … ∪ D_S, disjoint, of equal size (sizes differ by at most 1)",
    strategy="the mean of S test errors",
    texts=["Li ch. 1, 1.5.2", "Machine Learning in Depth ch. 1, 1.3.2", "Studies ML ch. 2, 2.2"],
)
scikit_learn_method(
    "sklearn.model_selection.StratifiedKFold",
    zh="分层 k 折交叉验证, 分层采样",
    title="Cross-validation with stratified folds: each has the classes in the shares of all rows.",
    task="model selection",
    model="D = D_1 ∪ … ∪ D_k, disjoint, with equal shares of the classes",
    strategy="the mean of k test errors",
    texts=["Studies ML ch. 2, 2.2"],
)
scikit_learn_method(
    "sklearn.model_selection.LeaveOneOut",
    zh="留一交叉验证, 留一法",
    title="Leave-one-out: cross-validation with as many folds as rows.",
    task="model selection",
    model="S = N folds of one row each",
    strategy="the mean of N test errors; `tercet.model_selection.leave_one_out` knows short cuts",
    texts=["Li ch. 1, 1.5.2", "Machine Learning in Depth ch. 1, 1.3.2", "Studies ML ch. 2, 2.2"],
)
scikit_learn_method(
    "sklearn.model_selection.cross_val_score",
    zh="交叉验证评分",
    title="The score of an estimator on every fold of a cross-validation.",
    task="model selection",
    model="a score for each fold",
    strategy="fit on the other folds, score on the fold",
    texts=["Li ch. 1, 1.5.2", "Studies ML ch. 2, 2.2"],
)
scikit_learn_method(
    "sklearn.model_selection.GridSearchCV",
    zh="交叉验证选模型, 网格搜索",
    title="The candidate with the best mean score of a cross-validation, fitted to all rows.",
    task="model selection",
    model="that of the best candidate",
    strategy="the least mean test error over the folds; one split of 7 : 3 is simple cross-validation",
    algorithms="every candidate on every fold",
    texts=["Li ch. 1, 1.5.2", "Machine Learning in Depth ch. 1, 1.3.2", "Studies ML ch. 2, 2.2"],
)

# Measures of what was predicted. (1.x) are those of Li, (2.x) those of Studies ML.

scikit_learn_method(
    "sklearn.metrics.zero_one_loss",
    zh="误差率, 错误率",
    title="Error rate: the share of rows that are misclassified.",
    task="evaluation",
    model="(1/N) Σ I(y_i ≠ f(x_i))",
    texts=["Li ch. 1, eq. 1.20", "Studies ML ch. 2, eq. 2.4, 2.6"],
)
scikit_learn_method(
    "sklearn.metrics.accuracy_score",
    zh="精确率, 精度",
    title="Accuracy: the share of rows that are classified correctly.",
    task="evaluation",
    model="(1/N) Σ I(y_i = f(x_i)) = 1 - error rate; with `sample_weight=p(x)`, that under a distribution",
    texts=["Li ch. 1, eq. 1.21", "Studies ML ch. 2, eq. 2.5, 2.7"],
)
scikit_learn_method(
    "sklearn.metrics.mean_squared_error",
    zh="均方误差",
    title="Mean squared error of predicted numbers.",
    task="evaluation",
    model="(1/m) Σ (f(x_i) - y_i)²; with `sample_weight=p(x)`, that under a distribution",
    texts=["Studies ML ch. 2, eq. 2.2, 2.3"],
)
scikit_learn_method(
    "sklearn.metrics.confusion_matrix",
    zh="混淆矩阵",
    title="Counts of rows by true and predicted class: TN, FP, FN and TP of two classes.",
    task="evaluation",
    model="C_jk = rows of class j that were predicted as class k",
    texts=["Li ch. 1, 1.8.1"],
)
scikit_learn_method(
    "sklearn.metrics.precision_score",
    zh="准确率, 查准率",
    title="Precision: the share of true positives among the rows predicted as positive.",
    task="evaluation",
    model="P = TP / (TP + FP); `pos_label` is the positive class",
    texts=["Li ch. 1, eq. 1.41"],
)
scikit_learn_method(
    "sklearn.metrics.recall_score",
    zh="召回率, 查全率",
    title="Recall: the share of the positive rows that were predicted as positive.",
    task="evaluation",
    model="R = TP / (TP + FN); `pos_label` is the positive class",
    texts=["Li ch. 1, eq. 1.42"],
)
scikit_learn_method(
    "sklearn.metrics.f1_score",
    zh="F1 值",
    title="F1: the harmonic mean of precision and recall.",
    task="evaluation",
    model="F_1 = 2TP / (2TP + FP + FN), 2/F_1 = 1/P + 1/R",
    texts=["Li ch. 1, eq. 1.43, 1.44"],
)

# Scaling, transformation and one-hot encoding of columns.

scikit_learn_method(
    "sklearn.preprocessing.StandardScaler",
    zh="标准化, z 分数",
    title="Columns scaled to mean 0 and standard deviation 1.",
    task="preprocessing",
    model="(x - mean) / std",
    strategy="means and standard deviations of the training rows",
    texts=["Machine Learning in Depth ch. 3, 3.2.3", "Pattern Recognition ch. 5, 5.4.4"],
)
scikit_learn_method(
    "sklearn.preprocessing.MinMaxScaler",
    zh="归一化, 最小-最大缩放",
    title="Columns scaled to an interval, [0, 1] or another one such as [-1, 1].",
    task="preprocessing",
    model="(x - min) / (max - min)",
    strategy="minima and maxima of the training rows",
    texts=["Machine Learning in Depth ch. 3, 3.2.3", "Pattern Recognition ch. 5, 5.4.4"],
)
scikit_learn_method(
    "sklearn.preprocessing.MaxAbsScaler",
    zh="最大绝对值缩放",
    title="Columns divided by their largest absolute value; zeros stay zeros.",
    task="preprocessing",
    model="x / max |x|",
    strategy="largest absolute values of the training rows",
    texts=["Machine Learning in Depth ch. 3, 3.2.3"],
)
scikit_learn_method(
    "sklearn.preprocessing.RobustScaler",
    zh="稳健缩放",
    title="Columns scaled by median and interquartile range, which outliers do not move.",
    task="preprocessing",
    model="(x - median) / (Q3 - Q1)",
    strategy="medians and quartiles of the training rows",
    texts=["Machine Learning in Depth ch. 3, 3.2.3"],
)
scikit_learn_method(
    "sklearn.preprocessing.PowerTransformer",
    zh="幂变换, Box-Cox 变换, Yeo-Johnson 变换",
    title="Power transform of each column towards a normal distribution.",
    task="preprocessing",
    model="(x^λ - 1) / λ (Box-Cox, x > 0), or Yeo-Johnson's form of it for any x",
    strategy="maximum likelihood of λ",
    texts=["Machine Learning in Depth ch. 3, 3.2.3"],
)
scikit_learn_method(
    "sklearn.preprocessing.OneHotEncoder",
    zh="独热编码, One-hot 编码",
    title="One column of zeros and ones for each category.",
    task="preprocessing",
    model="[0 0 0 1 0]: 1 at the category's place",
    strategy='the categories of the training rows; `handle_unknown="ignore"` makes zeros of others',
    texts=["Machine Learning in Depth ch. 3, 3.2.3"],
)

# Missing values. `tercet.feature.GroupImputer` fills them in by group.

scikit_learn_method(
    "sklearn.impute.SimpleImputer",
    zh="缺失值填补, 简单填补",
    title="Missing values replaced by the column's mean, median, most frequent value or a constant.",
    task="preprocessing",
    model="one value for each column",
    strategy="mean, median or mode of the training rows",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
)
scikit_learn_method(
    "sklearn.impute.KNNImputer",
    zh="k 近邻填补",
    title="Missing values replaced by the mean of the k nearest rows that have one.",
    task="preprocessing",
    model="mean over the k nearest rows, by Euclidean distance of what both rows have",
    strategy="near rows have near values",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
)
scikit_learn_method(
    "sklearn.impute.IterativeImputer",
    zh="迭代填补, 链式方程填补",
    title="Missing values predicted by regressions of each column on the others, in turn.",
    task="preprocessing",
    model="a regression of each column on the others",
    strategy="that of the regression",
    algorithms="column by column, until the filled-in values settle (chained equations)",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
)
scikit_learn_method(
    "sklearn.impute.MissingIndicator",
    zh="缺失指示变量",
    title="Columns of zeros and ones that tell where a value was missing.",
    task="preprocessing",
    model="I(x_ij is missing)",
    strategy="columns that have missing values among the training rows, or all",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
)

# The course of the work: preprocess, fit, evaluate, predict.

scikit_learn_method(
    "sklearn.pipeline.Pipeline",
    zh="流水线, 工作流程",
    title="Transformers and an estimator as one estimator: preprocess, fit, evaluate, predict.",
    task="model selection",
    model="f(t_k(… t_1(x)))",
    strategy="every step learns from the training rows alone, in cross-validation from those of each fold",
    texts=["Machine Learning in Depth ch. 3, 3.2"],
)
scikit_learn_method(
    "sklearn.compose.ColumnTransformer",
    zh="分列变换",
    title="Different transformers for different columns of one table.",
    task="preprocessing",
    model="the columns that each transformer makes of its own, side by side",
    strategy="that of each transformer",
    texts=["Machine Learning in Depth ch. 3, 3.2.3"],
)
