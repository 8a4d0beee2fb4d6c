// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// Operators that are no matrix products and count 0 FLOPs by convention, family by family. An operator that stands neither
// here nor in a formula table is unknown. In-place forms ("add_") go with their plain form.
#include "backend/graph/operators/Formula.h"

#include <array>
#include <unordered_map>

namespace modulelens::graph {

namespace {

/// Views, shapes and questions about a tensor.
constexpr std::string_view kViews =
    "_assert_async _assert_scalar _assert_tensor_metadata _conj _functional_assert_async "
    "_functional_assert_scalar _functional_sym_constrain_range _functional_sym_constrain_range_for_size "
    "_fused_sdp_choice _has_same_storage_numel _local_scalar_dense _make_dep_token _neg_view "
    "_nested_get_lengths _nested_get_max_seqlen _nested_get_min_seqlen _nested_get_offsets "
    "_nested_get_ragged_idx _nested_get_values _nnpack_available _print _reshape_alias _shape_as_tensor "
    "_unsafe_view _use_cudnn_rnn_flatten_weight _version adjoint alias as_strided atleast_1d atleast_2d "
    "atleast_3d broadcast_tensors broadcast_to chunk conj cudnn_is_acceptable data detach device diagonal "
    "dim dsplit expand expand_as get_device hsplit imag is_coalesced is_complex is_conj is_contiguous "
    "is_floating_point is_inference is_leaf is_nonzero is_pinned is_same_size is_signed item lift "
    "lift_fresh linalg_diagonal mH mT matrix_H moveaxis movedim narrow numel numpy_T output_nr permute "
    "real requires_grad resolve_conj resolve_neg result_type select set_grad_enabled size slice split "
    "split_with_sizes squeeze storage_offset stride swapaxes swapdims sym_constrain_range "
    "sym_constrain_range_for_size sym_is_contiguous sym_numel sym_size sym_storage_offset sym_stride t "
    "tensor_split transpose unbind unflatten unfold unsafe_chunk unsafe_split unsafe_split_with_sizes "
    "unsqueeze view view_as view_as_complex view_as_real vsplit warn ";

/// Views where the strides allow it, else one copy.
constexpr std::string_view kReshapes = "flatten ravel reshape reshape_as ";

/// Copies only where the type or the order of elements changes.
constexpr std::string_view kConversions = "_autocast_to_full_precision _autocast_to_reduced_precision contiguous to type_as ";

/// Memory reserved and not touched.
constexpr std::string_view kReservations =
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided record_stream resize "
    "resize_as set pin_memory ";

/// Rows and elements picked by index: as much is read as is written.
constexpr std::string_view kLookups =
    "_unsafe_index _unsafe_masked_index embedding gather index index_select masked_select nonzero_static take "
    "take_along_dim ";

/// Sums over picked rows.
constexpr std::string_view kBags = "_embedding_bag _embedding_bag_forward_only embedding_bag ";

/// Elementwise arithmetic and functions.
constexpr std::string_view kElementwise =
    "_add_relu _compute_linear_combination _conj_physical _masked_scale abs absolute acos acosh add addcdiv "
    "addcmul addr angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh "
    "cartesian_prod ceil clamp clamp_max clamp_min clip complex conj_physical copysign cos cosh cross deg2rad "
    "diff digamma dist_backward div divide erf erfc erfinv exp exp2 expm1 fix float_power floor floor_divide "
    "fmax fmin fmod frac frexp gcd ger heaviside hypot i0 igamma igammac kron lcm ldexp lerp lgamma "
    "linalg_cross log log10 log1p log2 logaddexp logaddexp2 logit logit_backward maximum minimum mul multiply "
    "mvlgamma nan_to_num neg negative nextafter outer polar polygamma positive pow rad2deg reciprocal "
    "remainder round rsqrt rsub sgn sigmoid_backward sign signbit sin sinc sinh special_airy_ai "
    "special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t "
    "special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w "
    "special_digamma special_entr special_erf special_erfc special_erfcx special_erfinv special_exp2 "
    "special_expit special_expm1 special_gammainc special_gammaincc special_gammaln "
    "special_hermite_polynomial_h special_hermite_polynomial_he special_i0 special_i0e special_i1 special_i1e "
    "special_laguerre_polynomial_l special_legendre_polynomial_p special_log1p special_log_ndtr "
    "special_log_softmax special_logit special_logsumexp special_modified_bessel_i0 "
    "special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_multigammaln "
    "special_ndtr special_ndtri special_polygamma special_psi special_round special_scaled_modified_bessel_k0 "
    "special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t "
    "special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
    "special_shifted_chebyshev_polynomial_w special_sinc special_softmax special_spherical_bessel_j0 "
    "special_xlog1py special_xlogy special_zeta sqrt square sub subtract tan tanh tanh_backward true_divide "
    "trunc where xlogy ";

/// Comparisons and logic.
constexpr std::string_view kComparisons =
    "__and__ __iand__ __ilshift__ __ior__ __irshift__ __ixor__ __lshift__ __or__ __rshift__ __xor__ "
    "_is_all_true _is_any_true all allclose any bitwise_and bitwise_left_shift bitwise_not bitwise_or "
    "bitwise_right_shift bitwise_xor eq equal ge greater greater_equal gt isclose isfinite isin isinf isnan "
    "isneginf isposinf isreal le less less_equal logical_and logical_not logical_or logical_xor lt ne "
    "not_equal ";

/// Activations and their gradients.
constexpr std::string_view kActivations =
    "_prelu_kernel _prelu_kernel_backward celu elu elu_backward gelu gelu_backward glu glu_backward "
    "hardshrink hardshrink_backward hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh "
    "hardtanh_backward infinitely_differentiable_gelu_backward leaky_relu leaky_relu_backward log_sigmoid "
    "log_sigmoid_backward log_sigmoid_forward mish mish_backward prelu relu relu6 rrelu rrelu_with_noise "
    "rrelu_with_noise_backward rrelu_with_noise_functional selu sigmoid silu silu_backward softplus "
    "softplus_backward softshrink softshrink_backward threshold threshold_backward ";

/// Reductions, scans, sorting and searching.
constexpr std::string_view kReductions =
    "_aminmax _cummax_helper _cummin_helper _grad_sum_to_size _logcumsumexp _segment_reduce_backward _unique "
    "_unique2 amax amin aminmax argmax argmin argsort argwhere bincount bucketize count_nonzero cummax "
    "cummaxmin_backward cummin cumprod cumprod_backward cumsum cumulative_trapezoid dist frobenius_norm histc "
    "histogram kthvalue linalg__powsum linalg_matrix_norm linalg_norm linalg_vector_norm logcumsumexp "
    "logsumexp max mean median min mode msort nanmean nanmedian nanquantile nansum native_norm nonzero "
    "nonzero_numpy norm norm_except_dim nuclear_norm pairwise_distance prod quantile renorm searchsorted "
    "segment_reduce sort std std_mean sum sum_to_size topk trace trace_backward trapezoid trapz "
    "unique_consecutive unique_dim unique_dim_consecutive value_selecting_reduction_backward vander var "
    "var_mean ";

/// Normalisation and softmax.
constexpr std::string_view kNormalisation =
    "_batch_norm_impl_index_backward _batch_norm_no_update _batch_norm_with_update "
    "_batch_norm_with_update_functional _native_batch_norm_legit _native_batch_norm_legit_functional "
    "_native_batch_norm_legit_no_training _weight_norm _weight_norm_differentiable_backward "
    "_weight_norm_interface _weight_norm_interface_backward batch_norm_backward batch_norm_backward_elemt "
    "batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats "
    "batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats cosine_similarity "
    "cudnn_batch_norm_backward group_norm instance_norm layer_norm miopen_batch_norm_backward "
    "native_batch_norm_backward native_group_norm native_group_norm_backward native_layer_norm "
    "native_layer_norm_backward ";

constexpr std::string_view kSoftmax =
    "_log_softmax _log_softmax_backward_data _masked_softmax _masked_softmax_backward _safe_softmax "
    "_softmax _softmax_backward_data log_softmax softmax ";

constexpr std::string_view kRmsNormalisation = "_fused_rms_norm _fused_rms_norm_backward rms_norm ";

constexpr std::string_view kBatchNormalisation =
    "_batch_norm_impl_index batch_norm cudnn_batch_norm miopen_batch_norm native_batch_norm ";

/// Pooling, resampling and padding.
constexpr std::string_view kPooling =
    "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d "
    "_adaptive_avg_pool3d_backward _pad_circular _pad_enum _upsample_bicubic2d_aa "
    "_upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward "
    "_upsample_lanczos2d_aa _upsample_lanczos2d_aa_backward _upsample_nearest_exact1d "
    "_upsample_nearest_exact1d_backward _upsample_nearest_exact2d _upsample_nearest_exact2d_backward "
    "_upsample_nearest_exact3d _upsample_nearest_exact3d_backward adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_avg_pool3d adaptive_avg_pool3d_backward adaptive_max_pool1d adaptive_max_pool2d "
    "adaptive_max_pool2d_backward adaptive_max_pool3d adaptive_max_pool3d_backward "
    "affine_grid_generator_backward avg_pool2d_backward avg_pool3d_backward channel_shuffle col2im "
    "constant_pad_nd cudnn_affine_grid_generator cudnn_affine_grid_generator_backward cudnn_grid_sampler "
    "cudnn_grid_sampler_backward fractional_max_pool2d fractional_max_pool2d_backward "
    "fractional_max_pool3d fractional_max_pool3d_backward grid_sampler grid_sampler_2d "
    "grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward im2col max_pool2d_backward "
    "max_pool2d_with_indices_backward max_pool3d_with_indices_backward max_unpool2d max_unpool3d "
    "mkldnn_adaptive_avg_pool2d mkldnn_adaptive_avg_pool2d_backward mkldnn_max_pool2d_backward "
    "mkldnn_max_pool3d_backward native_channel_shuffle pad pixel_shuffle pixel_unshuffle reflection_pad1d "
    "reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward reflection_pad3d "
    "reflection_pad3d_backward replication_pad1d replication_pad1d_backward replication_pad2d "
    "replication_pad2d_backward replication_pad3d replication_pad3d_backward unfold_backward "
    "upsample_bicubic2d upsample_bicubic2d_backward upsample_bilinear2d upsample_bilinear2d_backward "
    "upsample_linear1d upsample_linear1d_backward upsample_nearest1d upsample_nearest1d_backward "
    "upsample_nearest2d upsample_nearest2d_backward upsample_nearest3d upsample_nearest3d_backward "
    "upsample_trilinear3d upsample_trilinear3d_backward ";

/// Pooling over windows whose size is the second argument.
constexpr std::string_view kWindows =
    "avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool1d_with_indices max_pool2d "
    "max_pool2d_with_indices max_pool3d max_pool3d_with_indices mkldnn_max_pool2d mkldnn_max_pool3d ";

/// Losses.
constexpr std::string_view kLosses =
    "_ctc_loss _ctc_loss_backward binary_cross_entropy binary_cross_entropy_backward "
    "binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy_loss ctc_loss hinge_embedding_loss "
    "huber_loss huber_loss_backward kl_div l1_loss margin_ranking_loss mse_loss mse_loss_backward "
    "multi_margin_loss multi_margin_loss_backward multilabel_margin_loss multilabel_margin_loss_backward "
    "multilabel_margin_loss_forward nll_loss nll_loss2d nll_loss2d_backward nll_loss2d_forward "
    "nll_loss_backward nll_loss_forward nll_loss_nd poisson_nll_loss smooth_l1_loss smooth_l1_loss_backward "
    "soft_margin_loss soft_margin_loss_backward triplet_margin_loss ";

/// Dropout and random numbers.
constexpr std::string_view kRandom =
    "_fused_dropout _philox_key_fold_in _philox_key_split _philox_normal _philox_uniform "
    "_sample_dirichlet _standard_gamma bernoulli binomial cauchy exponential geometric log_normal "
    "multinomial native_dropout native_dropout_backward normal normal_functional poisson rand randint "
    "randn randperm ";

/// The identity in evaluation.
constexpr std::string_view kDropouts = "alpha_dropout dropout feature_alpha_dropout feature_dropout ";

/// Creation, copies and rearrangement.
constexpr std::string_view kCreation =
    "_cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short "
    "_chunk_cat _conj_copy _copy_from _copy_from_and_resize _cudnn_init_dropout_state "
    "_cudnn_rnn_flatten_weight _efficientzerotensor _fw_primal _fw_primal_copy _index_put_impl "
    "_jagged_to_padded_dense_forward _lazy_clone _list_to_tensor _make_dual _mkldnn_reshape "
    "_mkldnn_transpose _neg_view_copy _nested_from_padded _nested_from_padded_tensor "
    "_nested_view_from_buffer _nested_view_from_jagged _new_zeros_with_same_feature_meta "
    "_pack_padded_sequence _pack_padded_sequence_backward _pad_packed_sequence "
    "_padded_dense_to_jagged_forward _pin_memory _reshape_alias_copy _reshape_copy _stack _tensor_to_list "
    "_to_copy _to_cpu _to_dense _unsafe_index_put _unsafe_masked_index_put_accumulate alias_copy arange "
    "as_strided_copy as_strided_scatter as_tensor bartlett_window blackman_window block_diag cat chalf "
    "clone column_stack combinations concat concatenate cpu cuda detach_copy diag diag_embed diagflat "
    "diagonal_backward diagonal_copy diagonal_scatter dstack expand_copy eye fft_fftfreq fft_fftshift "
    "fft_ifftshift fft_rfftfreq fill_diagonal flatten_dense_tensors flip fliplr flipud from_file full "
    "gather_backward hamming_window hann_window hstack index_add index_copy index_fill index_put "
    "index_reduce index_select_backward kaiser_window lift_fresh_copy linspace logspace masked_fill "
    "masked_scatter masked_scatter_backward masked_select_backward meshgrid mkldnn_reorder_conv2d_weight "
    "mkldnn_reorder_conv3d_weight narrow_copy one_hot ones pad_sequence permute_copy put repeat "
    "repeat_interleave roll rot90 row_stack scalar_tensor scatter scatter_add scatter_reduce "
    "select_backward select_copy select_scatter slice_backward slice_copy slice_inverse slice_scatter "
    "split_copy split_with_sizes_copy squeeze_copy stack t_copy tensor tile to_mkldnn to_mkldnn_backward "
    "to_padded_tensor transpose_copy tril tril_indices triu triu_indices unbind_copy "
    "unflatten_dense_tensors unfold_copy unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy "
    "vstack zeros ";

/// Writes without reading what was there.
constexpr std::string_view kOverwrites =
    "bernoulli_ cauchy_ copy exponential_ fill full_like geometric_ log_normal_ new_full new_ones "
    "new_zeros normal_ ones_like rand_like randint_like randn_like random uniform zero zeros_like ";

/// Writes to the places that indices name.
constexpr std::string_view kScatters =
    "_index_put_impl_ _unsafe_index_put_ index_add_ index_copy_ index_put_ put_ scatter_ scatter_add_ "
    "scatter_reduce_ index_reduce_ ";

/// Gradients and upkeep of embeddings.
constexpr std::string_view kEmbeddingGradients =
    "_embedding_bag_backward _embedding_bag_dense_backward _embedding_bag_per_sample_weights_backward "
    "_embedding_bag_sparse_backward embedding_backward embedding_dense_backward embedding_renorm "
    "embedding_sparse_backward ";

/// Gates of recurrent cells, the products left out.
constexpr std::string_view kGates =
    "_thnn_differentiable_gru_cell_backward _thnn_differentiable_lstm_cell_backward _thnn_fused_gru_cell "
    "_thnn_fused_gru_cell_backward _thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward "
    "_thnn_fused_lstm_cell_backward_impl ";

/// Conversion to and from quantised values.
constexpr std::string_view kQuantisation =
    "_choose_qparams_per_tensor _fake_quantize_learnable_per_channel_affine "
    "_fake_quantize_learnable_per_channel_affine_backward _fake_quantize_learnable_per_tensor_affine "
    "_fake_quantize_learnable_per_tensor_affine_backward "
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams _saturate_weight_to_fp16 dequantize "
    "fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask "
    "fake_quantize_per_channel_affine_cachemask_backward fake_quantize_per_tensor_affine "
    "fake_quantize_per_tensor_affine_cachemask fake_quantize_per_tensor_affine_cachemask_backward int_repr "
    "q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme "
    "quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic ";

/// Optimiser steps over lists of tensors.
constexpr std::string_view kOptimisers =
    "_amp_foreach_non_finite_check_and_unscale _amp_update_scale _foreach_abs _foreach_acos _foreach_add "
    "_foreach_addcdiv _foreach_addcmul _foreach_asin _foreach_atan _foreach_ceil _foreach_clamp_max "
    "_foreach_clamp_min _foreach_clone _foreach_copy _foreach_cos _foreach_cosh _foreach_div _foreach_erf "
    "_foreach_erfc _foreach_exp _foreach_expm1 _foreach_floor _foreach_frac _foreach_lerp _foreach_lgamma "
    "_foreach_log _foreach_log10 _foreach_log1p _foreach_log2 _foreach_max _foreach_maximum _foreach_minimum "
    "_foreach_mul _foreach_neg _foreach_norm _foreach_pow _foreach_powsum _foreach_reciprocal _foreach_round "
    "_foreach_rsqrt _foreach_sigmoid _foreach_sign _foreach_sin _foreach_sinh _foreach_sqrt _foreach_sub "
    "_foreach_tan _foreach_tanh _foreach_trunc _foreach_zero _fused_adagrad _fused_adam _fused_adamw "
    "_fused_sgd ";

struct Family {
    ZeroRow row;
    std::string_view names;
};

constexpr std::array kFamilies = {
    Family{{Traffic::None, Work::None}, kViews},
    Family{{Traffic::None, Work::None}, kReservations},
    Family{{Traffic::Reshape, Work::None}, kReshapes},
    Family{{Traffic::Convert, Work::None}, kConversions},
    Family{{Traffic::Lookup, Work::None}, kLookups},
    Family{{Traffic::Bag, Work::Bag}, kBags},
    Family{{Traffic::Stream, Work::PerOutput}, kElementwise},
    Family{{Traffic::Stream, Work::PerOutput}, kComparisons},
    Family{{Traffic::Stream, Work::PerOutput}, kActivations},
    Family{{Traffic::Stream, Work::PerInput}, kReductions},
    Family{{Traffic::Stream, Work::Normalisation}, kNormalisation},
    Family{{Traffic::Stream, Work::Softmax}, kSoftmax},
    Family{{Traffic::Stream, Work::RmsNormalisation}, kRmsNormalisation},
    Family{{Traffic::Stream, Work::BatchNormalisation}, kBatchNormalisation},
    Family{{Traffic::Stream, Work::PerInput}, kPooling},
    Family{{Traffic::Stream, Work::Window}, kWindows},
    Family{{Traffic::Stream, Work::PerInput}, kLosses},
    Family{{Traffic::Stream, Work::PerOutput}, kRandom},
    Family{{Traffic::Dropout, Work::PerOutput}, kDropouts},
    Family{{Traffic::Stream, Work::None}, kCreation},
    Family{{Traffic::Overwrite, Work::None}, kOverwrites},
    Family{{Traffic::ScatterInPlace, Work::None}, kScatters},
    Family{{Traffic::Stream, Work::None}, kEmbeddingGradients},
    Family{{Traffic::Stream, Work::PerInput}, kGates},
    Family{{Traffic::Stream, Work::PerOutput}, kQuantisation},
    Family{{Traffic::Stream, Work::PerOutput}, kOptimisers},
};

std::unordered_map<std::string_view, ZeroRow> makeIndex() {
    std::unordered_map<std::string_view, ZeroRow> index;
    for (const Family& family : kFamilies) {
        std::string_view rest = family.names;
        while (!rest.empty()) {
            const std::size_t space = rest.find(' ');
            index.emplace(rest.substr(0, space), family.row);
            rest.remove_prefix(space + 1);
        }
    }
    return index;
}

}  // namespace

std::optional<ZeroRow> findZeroRow(std::string_view name) {
    static const auto index = makeIndex();
    constexpr std::string_view kAten = "aten::";
    // Arithmetic on Python numbers and sizes, as exported graphs hold it.
    if (name.starts_with("_operator::") || name.starts_with("math::") || name.starts_with("torch::sym_") ||
        name.starts_with("prim::")) {
        return ZeroRow{Traffic::None, Work::None};
    }
    if (!name.starts_with(kAten)) {
        return std::nullopt;
    }
    name.remove_prefix(kAten.size());
    auto found = index.find(name);
    if (found == index.end() && name.ends_with('_') && !name.ends_with("__")) {
        found = index.find(name.substr(0, name.size() - 1));
    }
    return found == index.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace modulelens::graph
