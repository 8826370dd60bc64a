"""The search for the labels of a transductive SVM, on the dual solver of `tercet.svm`."""
