# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
#
# The table of layers: what may use what. Arrows only point to lines above. ARCHITECTURE.md says what each layer is for.

include_guard(GLOBAL)

ml_layer(base DIR backend/base QT_FREE THIRD_PARTY openssl xxhash)
ml_layer(rpc DIR backend/rpc QT_FREE MAY_USE base THIRD_PARTY nlohmann_json)
ml_layer(protocol DIR backend/protocol QT_FREE MAY_USE base rpc THIRD_PARTY nlohmann_json)
ml_layer(capture DIR backend/capture QT_FREE MAY_USE base THIRD_PARTY nlohmann_json)
ml_layer(graph DIR backend/graph QT_FREE MAY_USE base THIRD_PARTY nlohmann_json)
ml_layer(profile DIR backend/profile QT_FREE MAY_USE base graph capture THIRD_PARTY nlohmann_json)
ml_layer(registry DIR backend/registry QT_FREE MAY_USE base capture profile THIRD_PARTY sqlitecpp roaring nlohmann_json)
ml_layer(http DIR backend/http QT_FREE MAY_USE base THIRD_PARTY curl)
ml_layer(wandb DIR backend/wandb QT_FREE MAY_USE base capture profile registry http THIRD_PARTY nlohmann_json)
ml_layer(workerclient DIR backend/workerclient MAY_USE base rpc protocol THIRD_PARTY qtcore nlohmann_json)
ml_layer(operations DIR backend/operations
    MAY_USE base rpc protocol capture graph profile registry workerclient
    THIRD_PARTY qtcore nlohmann_json)
ml_layer(engine DIR backend/engine MAY_USE base capture graph profile protocol THIRD_PARTY torch nlohmann_json)
ml_layer(models DIR models
    MAY_USE base capture graph profile registry protocol operations
    THIRD_PARTY qtcore qtgui nlohmann_json)
ml_layer(widgets DIR widgets LICENCE GPL-3.0-or-later
    MAY_USE base capture graph profile models
    THIRD_PARTY qtcore qtgui qtwidgets qtsvg qcustomplot)
ml_layer(worker DIR app/worker EXECUTABLE modulelens-worker
    MAY_USE base rpc protocol capture graph profile engine
    THIRD_PARTY torch nlohmann_json)
ml_layer(cli DIR app/cli EXECUTABLE modulelens
    MAY_USE base capture graph profile registry protocol http wandb operations
    THIRD_PARTY qtcore nlohmann_json)
ml_layer(explorer DIR app/explorer EXECUTABLE modulelens-explorer LICENCE GPL-3.0-or-later
    MAY_USE base rpc protocol capture graph profile registry workerclient operations models widgets
    THIRD_PARTY qtcore qtgui qtwidgets qtsvg qcustomplot nlohmann_json)
